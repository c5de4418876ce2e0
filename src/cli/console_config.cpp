#include "cli/console_config.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "cli/failure.h"
#include "cli/nginx_quote.h"

namespace fairway::cli {
namespace {

// The header that tells the client's address is a sign of a proxy too, whatever its name: $http_… of it.
std::string header_variable(const std::string& header) {
  std::string name = "$http_";
  for (const char c : header) name += c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return name;
}

}  // namespace

std::string console_rules(const RunSettings& settings) {
  std::string text =
      "    # The console is for this machine itself: the connection comes from it, the Host is its own name, and no proxy has left a "
      "trace.\n"
      "    geo $realip_remote_addr $fairway_from_here {\n        default \"\";\n        127.0.0.0/8 1;\n        ::1/128 1;\n    }\n";
  const std::string traces = settings.proxy.header.empty() ? "" : header_variable(settings.proxy.header);
  text += "    map \"$fairway_from_here$fairway_direct" + traces + "\" $fairway_operator {\n        default \"\";\n        11 1;\n    }\n";
  if (settings.console_allow.empty()) return text + "\n";
  text += "    # From these networks it takes a password.\n    geo $fairway_from_office {\n        default \"\";\n";
  for (const std::string& network : settings.console_allow) text += "        " + network + " 1;\n";
  text +=
      "    }\n    map $fairway_operator$fairway_from_office $fairway_console {\n        default \"\";\n        1 1;\n        11 1;\n    }\n"
      "    map $fairway_operator $fairway_realm {\n        default Fairway;\n        1 off;\n    }\n";
  return text + "\n";
}

std::string console_location(const RunSettings& settings, const Machine& machine) {
  const bool office = !settings.console_allow.empty();
  std::string guard;
  if (office) {
    // Below root the workers may not enter the state folder from above; they are in the folder that the file lies in.
    const std::string file = (machine.worker_user.empty() ? settings.work_path() : std::string("/proc/self/cwd")) + "/console";
    guard = "            auth_basic $fairway_realm;\n            auth_basic_user_file " + nginx_quote(file) + ";\n";
  }
  std::string text = std::string("        if (") + (office ? "$fairway_console" : "$fairway_operator") + ") {\n";
  text +=
      "            rewrite ^/fairway/(.*)$ /.fairway-console/$1 last;  # for anybody else /fairway/ is the application's\n"
      "        }\n"
      "        location /.fairway-console/ {\n"
      "            internal;\n"
      "            fairway_api;\n" +
      guard +
      "        }\n"
      "        location = /.fairway-console/metrics {  # for Prometheus, at /fairway/metrics\n"
      "            internal;\n"
      "            fairway_metrics;\n" +
      guard + "        }\n";
  return text;
}

std::string password_line(const std::string& password) {
  std::array<unsigned char, 28> digest{};  // SHA-1, then the salt
  unsigned char* salt = digest.data() + 20;
  unsigned size = 0;
  std::string salted = password;
  if (RAND_bytes(salt, 8) != 1) throw RunError("no randomness to be had for the password's salt");
  salted.append(reinterpret_cast<const char*>(salt), 8);
  if (EVP_Digest(salted.data(), salted.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1 || size != 20)
    throw RunError("the password cannot be hashed");
  std::array<unsigned char, 41> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return "operator:{SSHA}" + std::string(reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length));
}

}  // namespace fairway::cli
