#include "operate/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

namespace fairway::operate {

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool v4 = text.find(':') == std::string_view::npos;
  if (slash == std::string_view::npos || text.substr(slash) != (v4 ? "/24" : "/48")) {
    return std::nullopt;
  }
  unsigned char bytes[16] = {};
  if (inet_pton(v4 ? AF_INET : AF_INET6, std::string(text.substr(0, slash)).c_str(), bytes) != 1) {
    return std::nullopt;
  }
  Network network;
  network.size = v4 ? 3 : 6;
  std::copy_n(bytes, network.size, network.bytes.begin());
  return network;
}

}  // namespace fairway::operate
