#include "cli/values.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "cli/failure.h"

namespace fairway::cli {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alnum(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// Digits only, no sign, no leading zero but "0" itself.
std::optional<std::uint32_t> to_number(std::string_view text) {
  std::uint32_t number = 0;
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit) || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

std::uint16_t parse_port(std::string_view text) {
  const auto port = to_number(text);
  if (!port || *port == 0 || *port > 65535) throw UsageError("the port must be a number from 1 to 65535");
  return static_cast<std::uint16_t>(*port);
}

template <std::size_t Size>
std::optional<std::array<unsigned char, Size>> to_address(const std::string& text) {
  std::array<unsigned char, Size> bytes{};
  if (inet_pton(Size == 4 ? AF_INET : AF_INET6, text.c_str(), bytes.data()) != 1) return std::nullopt;
  return bytes;
}

template <std::size_t Size>
std::string network_text(std::array<unsigned char, Size> bytes, std::uint32_t bits) {
  for (std::size_t i = 0; i < Size; ++i) {
    const auto kept = std::clamp<int>(static_cast<int>(bits) - static_cast<int>(i) * 8, 0, 8);
    bytes[i] = static_cast<unsigned char>(bytes[i] & (0xff00 >> kept));
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(Size == 4 ? AF_INET : AF_INET6, bytes.data(), text.data(), text.size());
  return std::string(text.data()) + "/" + std::to_string(bits);
}

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text.front() != '-' && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_'; });
}

// What RFC 3986 allows in a path, less `$`, which nginx would take for a variable.
void check_path(std::string_view path) {
  constexpr std::string_view kOthers = "/-._~!&'()*+,;=:@";
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%') {
      if (i + 2 >= path.size() || !is_hex(path[i + 1]) || !is_hex(path[i + 2]))
        throw UsageError("a % in the path must be followed by two hex digits");
      i += 2;
    } else if (!is_alnum(path[i]) && kOthers.find(path[i]) == std::string_view::npos) {
      throw UsageError("the path may hold letters, digits, /-._~!&'()*+,;=:@ and %XX, no query and no fragment");
    }
  }
}

struct HostPort {
  std::string host;
  std::optional<std::uint16_t> port;
};

// HOST, HOST:PORT, [IPV6] or [IPV6]:PORT.
HostPort split_authority(std::string_view text) {
  HostPort result;
  std::string_view rest;
  if (!text.empty() && text.front() == '[') {
    const auto end = text.find(']');
    if (end == std::string_view::npos) throw UsageError("an IPv6 address needs brackets around it, as in [::1]:3000");
    result.host = lower(text.substr(1, end - 1));
    if (!to_address<16>(result.host)) throw UsageError("what is in brackets must be an IPv6 address");
    rest = text.substr(end + 1);
  } else {
    const auto colon = text.find(':');
    result.host = lower(text.substr(0, colon));
    if (!is_host_name(result.host)) throw UsageError("the host must be a name, an IPv4 address or an IPv6 address in brackets");
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (!rest.empty()) {
    if (rest.front() != ':') throw UsageError("after the host there may be only :PORT");
    result.port = parse_port(rest.substr(1));
  }
  return result;
}

std::string join_authority(const std::string& host, std::uint16_t port) {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace

void refuse_control_characters(std::string_view text) {
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    throw UsageError("control characters and line breaks are not allowed");
  }
}

std::string Upstream::authority() const {
  return join_authority(host, port);
}
std::string Upstream::url() const {
  return (tls ? "https://" : "http://") + authority() + path;
}
std::string Listen::authority() const {
  return join_authority(address, port);
}

std::vector<Listen> Listen::sockets() const {
  if (address == "::") return {Listen{"0.0.0.0", port}, *this};
  return {*this};
}

std::string Listen::url() const {
  const bool everywhere = address == "0.0.0.0" || address == "::";
  return "http://" + join_authority(everywhere ? "localhost" : address, port) + "/";
}

Upstream parse_upstream(std::string_view text) {
  Upstream upstream;
  const auto scheme_end = text.find("://");
  const std::string scheme = scheme_end == std::string_view::npos ? "" : lower(text.substr(0, scheme_end));
  if (scheme != "http" && scheme != "https")
    throw UsageError("give a URL that begins with http:// or https://, as in http://127.0.0.1:3000");
  upstream.tls = scheme == "https";
  text.remove_prefix(scheme_end + 3);
  const auto slash = std::min(text.find_first_of("/?#"), text.size());
  const std::string_view authority = text.substr(0, slash);
  if (authority.find('@') != std::string_view::npos) throw UsageError("a user or password in the URL is not supported");
  HostPort target = split_authority(authority);
  upstream.host = std::move(target.host);
  upstream.port = target.port.value_or(upstream.tls ? 443 : 80);
  upstream.path = text.substr(slash);
  check_path(upstream.path);
  if (upstream.path == "/") upstream.path.clear();
  if (!upstream.path.empty() && upstream.path.back() != '/') upstream.path += '/';
  return upstream;
}

Listen parse_listen(std::string_view text) {
  const char* const allowed = "give PORT or ADDR:PORT, as in 8080, 127.0.0.1:8080, 0.0.0.0:80 or [::]:80";
  Listen listen;
  if (to_number(text)) {
    listen.port = parse_port(text);
    return listen;
  }
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) throw UsageError(allowed);
  listen.port = parse_port(text.substr(colon + 1));
  std::string address = lower(text.substr(0, colon));
  if (address == "*") address = "0.0.0.0";
  if (address == "localhost") address = "127.0.0.1";
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') {
    listen.address = address.substr(1, address.size() - 2);
    if (!to_address<16>(listen.address)) throw UsageError(allowed);
  } else {
    listen.address = address;
    if (!to_address<4>(listen.address)) throw UsageError(allowed);
  }
  return listen;
}

std::uint32_t parse_count(std::string_view text, std::uint32_t least, std::uint32_t most) {
  const auto number = to_number(text);
  if (!number || *number < least || *number > most) {
    throw UsageError("give a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return *number;
}

std::string parse_rate(std::string_view text) {
  if (text == "off") return "";
  const auto slash = text.find('/');
  const auto number = to_number(text.substr(0, slash));
  const std::string_view unit = slash == std::string_view::npos ? "" : text.substr(slash);
  if (!number || *number == 0 || *number > 1'000'000 || (unit != "/s" && unit != "/m")) {
    throw UsageError("give N/s, N/m or off, N from 1 to 1000000, as in 10/s");
  }
  return std::string(text);
}

std::string parse_network(std::string_view text) {
  const auto slash = text.find('/');
  const std::string address(text.substr(0, slash));
  const auto v4 = to_address<4>(address);
  const auto v6 = to_address<16>(address);
  const std::uint32_t most = v4 ? 32 : 128;
  const auto bits = slash == std::string_view::npos ? most : to_number(text.substr(slash + 1));
  if ((!v4 && !v6) || !bits || *bits > most) throw UsageError("give addresses or networks, as in 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32");
  return v4 ? network_text(*v4, *bits) : network_text(*v6, *bits);
}

std::string parse_prefix(std::string_view text) {
  refuse_control_characters(text);
  if (text.empty() || text.front() != '/' || text.size() > 1024)
    throw UsageError("give beginnings of paths, each starting with /, as in /api/ /robots.txt");
  return std::string(text);
}

std::string parse_header_name(std::string_view text) {
  if (text.empty() || text.size() > 100 || !std::all_of(text.begin(), text.end(), [](char c) { return is_alnum(c) || c == '-'; })) {
    throw UsageError("give the name of a header, letters, digits and dashes, as in X-Forwarded-For");
  }
  return std::string(text);
}

std::vector<std::string> split_list(const std::vector<std::string>& values) {
  std::vector<std::string> result;
  for (const std::string& value : values) {
    std::size_t begin = 0;
    while (begin < value.size()) {
      const auto end = std::min(value.find_first_of(" ,\t", begin), value.size());
      if (end > begin) result.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return result;
}

}  // namespace fairway::cli
