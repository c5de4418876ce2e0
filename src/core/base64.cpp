#include "core/base64.h"

namespace fairway {
namespace {

using Alphabet = std::array<char, 64>;
using Values = std::array<std::uint8_t, 256>;
constexpr std::uint8_t kBad = 0xff;

constexpr Alphabet alphabet_ending(char c62, char c63) {
  Alphabet table{};
  std::size_t n = 0;
  for (char c = 'A'; c <= 'Z'; ++c) table[n++] = c;
  for (char c = 'a'; c <= 'z'; ++c) table[n++] = c;
  for (char c = '0'; c <= '9'; ++c) table[n++] = c;
  table[n++] = c62;
  table[n++] = c63;
  return table;
}

constexpr Values values_of(const Alphabet& alphabet) {
  Values values{};
  values.fill(kBad);
  for (std::size_t i = 0; i < alphabet.size(); ++i) values[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}

constexpr Alphabet kAlphabets[] = {alphabet_ending('+', '/'), alphabet_ending('-', '_')};
constexpr Values kValues[] = {values_of(kAlphabets[0]), values_of(kAlphabets[1])};

}  // namespace

void base64_encode(const Bytes32& bytes, Base64 alphabet, std::span<char, kBase64Size32> out) noexcept {
  const Alphabet& table = kAlphabets[static_cast<std::size_t>(alphabet)];
  std::size_t n = 0;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const std::uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (held += 8; held >= 6;) {
      held -= 6;
      out[n++] = table[bits >> held & 63];
    }
  }
  out[n] = table[bits << (6 - held) & 63];
}

bool base64_decode(std::string_view text, Base64 alphabet, Bytes32& bytes) noexcept {
  if (text.size() != kBase64Size32) return false;
  const Values& values = kValues[static_cast<std::size_t>(alphabet)];
  std::size_t n = 0;
  std::uint32_t bits = 0;
  unsigned held = 0;
  std::uint8_t seen = 0;
  for (const char c : text) {
    const std::uint8_t value = values[static_cast<std::uint8_t>(c)];
    seen |= value;  // kBad is the only value with one of the two upper bits
    bits = bits << 6 | (value & 63u);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes[n++] = static_cast<std::uint8_t>(bits >> held);
    }
  }
  return seen < 64 && (bits & ((1u << held) - 1)) == 0;
}

}  // namespace fairway
