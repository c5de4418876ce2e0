// The values that people type after a flag, checked. Every function throws UsageError with a line that says what is allowed.
// Nothing here touches the system: no name is looked up, no file is opened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairway::cli {

// Where the application is: http[s]://HOST[:PORT][/PATH].
struct Upstream {
  bool tls = false;
  std::string host;  // a name, an IPv4 address, or an IPv6 address without brackets; lower case
  std::uint16_t port = 80;
  std::string path;  // empty, or it begins and ends with a slash and is more than one

  std::string authority() const;  // host:port as nginx wants it, IPv6 in brackets
  std::string url() const;
};

// Where the gateway listens: [ADDR:]PORT, loopback when there is no address.
struct Listen {
  std::string address = "127.0.0.1";  // IPv4, or IPv6 without brackets
  std::uint16_t port = 8080;

  std::string authority() const;
  // [::] means everybody, and so two sockets: applications should not see IPv4 visitors as ::ffff:192.0.2.7.
  std::vector<Listen> sockets() const;
  std::string url() const;  // one that a browser on this machine can open
};

// Throws UsageError when the text holds a control character, which no value that ends up in nginx.conf may.
void refuse_control_characters(std::string_view text);

Upstream parse_upstream(std::string_view text);
Listen parse_listen(std::string_view text);
std::uint32_t parse_count(std::string_view text, std::uint32_t least, std::uint32_t most);
// N/s, N/m or off; off comes back as an empty string.
std::string parse_rate(std::string_view text);
// ADDR or ADDR/BITS; comes back as network/bits with the bits of the host cleared.
std::string parse_network(std::string_view text);
// The beginning of a path, as nginx sees it after decoding.
std::string parse_prefix(std::string_view text);
std::string parse_header_name(std::string_view text);

// "a b,c" and {"a b", "c"} both mean three values; a list may be spread over flags, spaces and commas.
std::vector<std::string> split_list(const std::vector<std::string>& values);

}  // namespace fairway::cli
