#include "cli/nginx_check.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "cli/failure.h"
#include "cli/process.h"

namespace fairway::cli {
namespace {

// The [emerg] lines of the output without "nginx: " and the level.
std::vector<std::string> complaints(std::string_view output) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < output.size();) {
    const auto end = std::min(output.find('\n', begin), output.size());
    const std::string_view line = output.substr(begin, end - begin);
    begin = end + 1;
    const auto level = line.find("[emerg]");
    if (level == std::string_view::npos) continue;
    // What follows may begin with process and thread, "7#7: ".
    const auto text = line.find_first_not_of(" 0123456789#:", level + 7);
    if (text != std::string_view::npos) lines.emplace_back(line.substr(text));
  }
  return lines;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The first text in quotes after `start`.
std::string quoted_after(std::string_view text, std::string_view start) {
  const auto at = text.find(start);
  if (at == std::string_view::npos) return "";
  const auto open = text.find('"', at + start.size());
  const auto close = open == std::string_view::npos ? open : text.find('"', open + 1);
  return close == std::string_view::npos ? "" : std::string(text.substr(open + 1, close - open - 1));
}

// nginx's version number, 1022001, as 1.22.1.
std::string version_after(std::string_view text, std::string_view start) {
  const auto at = text.find(start);
  if (at == std::string_view::npos) return "?";
  const char* const digits = text.data() + at + start.size();
  unsigned number = 0;
  if (std::from_chars(digits, text.data() + text.size(), number).ec != std::errc{}) return "?";
  return std::to_string(number / 1'000'000) + "." + std::to_string(number / 1'000 % 1'000) + "." + std::to_string(number % 1'000);
}

std::optional<std::string> explain_module(const std::string& line) {
  const std::string rebuild = ": install the package made for this nginx, or build Fairway against its headers";
  if (contains(line, "is not binary compatible")) return "the module was built for an nginx with other options" + rebuild;
  if (contains(line, "instead of") && contains(line, "version")) {
    return "the module was built for nginx " + version_after(line, "version ") + ", this is nginx " + version_after(line, "instead of ") +
           rebuild;
  }
  if (contains(line, "dlopen()")) {
    const auto open = line.rfind('(');
    const std::string reason = open == std::string::npos ? "" : " (" + line.substr(open + 1, line.rfind(')') - open - 1) + ")";
    return "nginx cannot load the module" + reason + rebuild;
  }
  const std::string unknown = quoted_after(line, "unknown directive");
  if (unknown == "fair_queue" || contains(line, "unknown \"fair_queue_"))
    return "this module has no fair queue: leave --concurrency and --preset away";
  if (contains(unknown, "fairway_") || unknown == "waiting_room")
    return "the module does not know " + unknown + ": it is older than this command";
  return std::nullopt;
}

std::optional<std::string> explain_line(const std::string& line) {
  if (auto module = explain_module(line)) return module;
  const std::string host = quoted_after(line, "host not found in upstream");
  if (!host.empty()) return "the host of --upstream has no address: " + host;
  if (contains(line, "bind()") && contains(line, "(98:")) return "the port is taken (" + line + ")";
  if (contains(line, "bind()") && contains(line, "(13:")) return "ports below 1024 need root (" + line + ")";
  return std::nullopt;
}

}  // namespace

std::string explain_nginx(std::string_view output) {
  const std::vector<std::string> lines = complaints(output);
  for (const std::string& line : lines) {
    if (auto plain = explain_line(line)) return *plain;
  }
  std::string text = "nginx does not take the configuration:";
  for (const std::string& line : lines) text += "\n  " + line;
  if (lines.empty())
    text += "\n  " + (output.empty() ? "it said nothing" : std::string(output.substr(0, output.find_last_not_of('\n') + 1)));
  return text;
}

void check_config(const std::string& nginx, const std::string& folder, const std::string& config) {
  const Finished test = run_and_read({nginx, "-e", "stderr", "-p", "./", "-c", config, "-t", "-q"}, folder);
  if (test.status != 0) throw RunError(explain_nginx(test.output));
}

}  // namespace fairway::cli
