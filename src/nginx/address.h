// What of a client's address counts: the prefix that entries are counted by, and the network that tokens can be bound to.
#pragma once

#include <array>

#include "core/sid.h"
#include "nginx/ngx.h"

namespace fairway::ngx {

struct EntryAddress {
  unsigned char bytes[8];  // IPv4 in full, IPv6 its /64
  std::size_t size;        // 0: unix socket or unknown family
  bool local;              // loopback, private, link-local or unique local: behind a proxy nobody told nginx about, or a test
};

// IPv4-mapped IPv6 addresses count as IPv4.
EntryAddress entry_address(const sockaddr* address) noexcept;
// /24 or /48; empty for others.
Network network_of(const sockaddr* address) noexcept;
// The same to be shown: "203.0.113.0/24", "2001:db8:1::/48", "a unix socket"; NUL-terminated.
std::array<char, 48> network_text(const sockaddr* address) noexcept;

}  // namespace fairway::ngx
