// The name of one browser or API client in one room: 128 random bits, written as 32 lower-case hex digits.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fairway {

struct Sid {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Sid&) const = default;

  // Writes 32 hex digits to `out`, no terminator.
  void to_hex(char* out) const noexcept;
  // Accepts exactly 32 lower-case hex digits; anything else is false and leaves `sid` as it was.
  static bool from_hex(std::string_view text, Sid& sid) noexcept;
};

// The network a token is bound to: the first 3 bytes of an IPv4 address (/24) or 6 of an IPv6 one (/48);
// size 0 when the room does not bind networks. IPv4-mapped IPv6 addresses count as IPv4.
struct Network {
  std::array<std::uint8_t, 6> bytes{};
  std::uint8_t size = 0;

  bool operator==(const Network&) const = default;
};

}  // namespace fairway
