#include "nginx/address.h"

#include <cstdio>
#include <cstring>

namespace fairway::ngx {

namespace {

struct Bytes {
  const unsigned char* data = nullptr;
  std::size_t size = 0;  // 4, 16, or 0
};

Bytes bytes_of(const sockaddr* address) noexcept {
  if (address->sa_family == AF_INET) {
    return {reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr), 4};
  }
  if (address->sa_family == AF_INET6) {
    const in6_addr& in6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&in6)) {
      return {in6.s6_addr + 12, 4};
    }
    return {in6.s6_addr, 16};
  }
  return {};
}

bool local_v4(const unsigned char* a) noexcept {
  return a[0] == 127 || a[0] == 10 || (a[0] == 172 && (a[1] & 0xf0) == 16) || (a[0] == 192 && a[1] == 168) || (a[0] == 169 && a[1] == 254);
}

bool local_v6(const unsigned char* a) noexcept {
  static constexpr unsigned char loopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return (a[0] & 0xfe) == 0xfc || (a[0] == 0xfe && (a[1] & 0xc0) == 0x80) || std::memcmp(a, loopback, 16) == 0;
}

}  // namespace

EntryAddress entry_address(const sockaddr* address) noexcept {
  const Bytes bytes = bytes_of(address);
  EntryAddress entry{{}, bytes.size == 16 ? 8 : bytes.size, true};
  if (bytes.size != 0) {
    std::memcpy(entry.bytes, bytes.data, entry.size);
    entry.local = bytes.size == 4 ? local_v4(bytes.data) : local_v6(bytes.data);
  }
  return entry;
}

Network network_of(const sockaddr* address) noexcept {
  const Bytes bytes = bytes_of(address);
  Network network;
  if (bytes.size != 0) {
    network.size = bytes.size == 4 ? 3 : 6;
    std::memcpy(network.bytes.data(), bytes.data, network.size);
  }
  return network;
}

std::array<char, 48> network_text(const sockaddr* address) noexcept {
  const Network network = network_of(address);
  std::array<char, 48> text{"a unix socket"};
  const auto& b = network.bytes;
  if (network.size == 3) {
    std::snprintf(text.data(), text.size(), "%u.%u.%u.0/24", b[0], b[1], b[2]);
  } else if (network.size == 6) {
    std::snprintf(text.data(), text.size(), "%x:%x:%x::/48", b[0] << 8 | b[1], b[2] << 8 | b[3], b[4] << 8 | b[5]);
  }
  return text;
}

}  // namespace fairway::ngx
