#include "core/redirect.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace fairway {
namespace {

using ByteSet = std::array<bool, 256>;

constexpr ByteSet letters_digits_and(std::string_view others) {
  ByteSet set{};
  for (unsigned c = 'A'; c <= 'Z'; ++c) set[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) set[c] = true;
  for (unsigned c = '0'; c <= '9'; ++c) set[c] = true;
  for (const char c : others) set[static_cast<std::uint8_t>(c)] = true;
  return set;
}

constexpr ByteSet kArgument = letters_digits_and("-._~/");
constexpr ByteSet kUrl = letters_digits_and("-._~:/?#[]@!$&'()*+,;=%");

std::size_t encode(std::string_view text, const ByteSet& plain, std::span<char> out) noexcept {
  constexpr char kDigits[] = "0123456789ABCDEF";
  char* at = out.data();
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (plain[byte]) {
      *at++ = c;
      continue;
    }
    *at++ = '%';
    *at++ = kDigits[byte >> 4];
    *at++ = kDigits[byte & 15];
  }
  return static_cast<std::size_t>(at - out.data());
}

// -1 for anything but a hex digit.
int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Takes one character, or an escape that stands for one, off the front.
char take_decoded(std::string_view& text) noexcept {
  const char c = text.front();
  if (c == '%' && text.size() >= 3) {
    const int high = hex_digit(text[1]);
    const int low = hex_digit(text[2]);
    if (high >= 0 && low >= 0) {
      text.remove_prefix(3);
      return static_cast<char>(high * 16 + low);
    }
  }
  text.remove_prefix(1);
  return c;
}

bool is_path_here(std::string_view target) noexcept {
  if (target.empty() || target[0] != '/') return false;
  if (target.size() > 1 && target[1] == '/') return false;
  return std::none_of(target.begin(), target.end(), [](char c) { return static_cast<std::uint8_t>(c) <= 0x20 || c == 0x7f || c == '\\'; });
}

}  // namespace

std::size_t encode_argument(std::string_view uri, std::span<char> out) noexcept {
  return encode(uri, kArgument, out);
}

std::string_view decode_target(std::string_view argument, std::span<char, kMaxTarget> out) noexcept {
  std::size_t size = 0;
  while (!argument.empty()) {
    if (size == out.size()) return "/";
    out[size++] = take_decoded(argument);
  }
  const std::string_view target(out.data(), size);
  return is_path_here(target) ? target : "/";
}

std::size_t encode_location(std::string_view target, std::span<char> out) noexcept {
  return encode(target, kUrl, out);
}

}  // namespace fairway
