#include "nginx/values.h"

#include <algorithm>
#include <charconv>

namespace fairway::ngx {

namespace {

bool is_lower_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_label(std::string_view label) noexcept {
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, [](char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '-'; });
}

// Bytes of the well-formed UTF-8 sequence `text` begins with (RFC 3629), 0 when it does not. nginx's own decoder takes any byte
// above 0x7f as a continuation.
std::size_t sequence_length(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t length = first >= 0xc2 && first <= 0xdf ? 2 : (first & 0xf0) == 0xe0 ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  if (length == 0 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);  // surrogates; above U+10FFFF
  return overlong || outside ? 0 : length;
}

}  // namespace

std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t low, std::uint32_t high) noexcept {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    return std::nullopt;
  }
  return value;
}

std::optional<Micros> parse_duration(std::string_view text) noexcept {
  ngx_str_t value = str(text);
  const ngx_int_t milliseconds = ngx_parse_time(&value, 0);
  if (milliseconds < 0 || milliseconds > kMaxDuration / 1'000) {
    return std::nullopt;
  }
  return Micros{milliseconds} * 1'000;
}

std::optional<Rate> parse_rate(std::string_view text) noexcept {
  if (text.size() < 3 || text[text.size() - 2] != '/' || (text.back() != 's' && text.back() != 'm')) {
    return std::nullopt;
  }
  const auto count = parse_count(text.substr(0, text.size() - 2), 1, 1'000'000);
  if (!count) {
    return std::nullopt;
  }
  return Rate{*count, text.back() == 's' ? 1'000'000 : 60'000'000};
}

std::optional<std::size_t> parse_bytes(std::string_view text) noexcept {
  ngx_str_t value = str(text);
  const ssize_t size = ngx_parse_size(&value);  // knows k and m only
  if (size >= 0) {
    return static_cast<std::size_t>(size);
  }
  if (text.size() > 1 && (text.back() == 'g' || text.back() == 'G')) {
    if (const auto count = parse_count(text.substr(0, text.size() - 1), 0, 1'024)) {
      return static_cast<std::size_t>(*count) << 30;
    }
  }
  return std::nullopt;
}

bool is_room_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxRoomName && text != "auto" && text != "off" &&
         std::ranges::all_of(text, [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_cookie_domain(std::string_view text) noexcept {
  if (text.starts_with('.')) {
    text.remove_prefix(1);
  }
  if (text.size() > 253) {
    return false;
  }
  for (;;) {
    const auto dot = text.find('.');
    if (!is_label(text.substr(0, dot))) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(dot + 1);
  }
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

bool is_plain_text(std::string_view text) noexcept {
  return is_utf8(text) &&
         std::ranges::none_of(text, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7f; });
}

ngx_str_t joined(ngx_pool_t* pool, std::string_view before, std::string_view middle, std::string_view after) noexcept {
  auto* data = static_cast<u_char*>(ngx_pnalloc(pool, before.size() + middle.size() + after.size()));
  if (data == nullptr) {
    return {};
  }
  u_char* end = data;
  for (const std::string_view part : {before, middle, after}) {
    end = ngx_cpymem(end, part.data(), part.size());
  }
  return {static_cast<std::size_t>(end - data), data};
}

}  // namespace fairway::ngx
