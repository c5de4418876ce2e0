// Lower-case hex, the one spelling of bytes in tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fairway {

// Writes two digits a byte, no terminator.
inline void hex_encode(std::span<const std::uint8_t> bytes, char* out) noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::uint8_t byte : bytes) {
    *out++ = kDigits[byte >> 4];
    *out++ = kDigits[byte & 15];
  }
}

// Value of a lower-case digit, 16 for any other character.
constexpr unsigned hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  return 16;
}

// Accepts exactly two lower-case digits for each of `bytes`; on false they hold nothing of use.
inline bool hex_decode(std::string_view text, std::span<std::uint8_t> bytes) noexcept {
  if (text.size() != bytes.size() * 2) return false;
  unsigned seen = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned high = hex_value(text[2 * i]);
    const unsigned low = hex_value(text[2 * i + 1]);
    seen |= high | low;
    bytes[i] = static_cast<std::uint8_t>((high & 15) << 4 | (low & 15));
  }
  return seen < 16;
}

}  // namespace fairway
