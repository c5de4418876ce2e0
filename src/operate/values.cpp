#include "operate/values.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace fairway::operate {

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

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr std::array<Unit, 7> kUnits = {
    {{"w", 604'800'000}, {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}, {"", 1'000}}};

// The unit that `text` begins with, or that a number before a blank or the end has; kUnits.size() when it begins with anything else.
std::size_t unit_of(std::string_view text) noexcept {
  if (text.empty() || text.front() == ' ') {
    return kUnits.size() - 1;
  }
  if (text.starts_with("ms")) {
    return kUnits.size() - 2;
  }
  for (std::size_t i = 0; i + 2 < kUnits.size(); ++i) {
    if (text.starts_with(kUnits[i].name)) {
      return i;
    }
  }
  return kUnits.size();
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

// Several parts may follow each other, each of a smaller unit than the one before; blanks may stand between them.
std::optional<Micros> parse_duration(std::string_view text) noexcept {
  std::int64_t total = 0;  // ms
  std::size_t next = 0;    // the largest unit that may still come
  bool any = false;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || text.front() == '-' || number > kMaxDuration) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::size_t unit = unit_of(text);
    if (unit < next || unit == kUnits.size()) {
      return std::nullopt;
    }
    next = unit + 1;
    text.remove_prefix(kUnits[unit].name.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (number > kMaxDuration / 1'000 / kUnits[unit].milliseconds) {
      return std::nullopt;
    }
    total += number * kUnits[unit].milliseconds;
    any = true;
  }
  if (!any || total > kMaxDuration / 1'000) {
    return std::nullopt;
  }
  return Micros{total} * 1'000;
}

std::string duration_text(Micros time) {
  const std::int64_t milliseconds = time / 1'000;
  if (milliseconds == 0) {
    return "0";
  }
  for (const Unit& unit : kUnits) {
    if (unit.name != "w" && !unit.name.empty() && milliseconds % unit.milliseconds == 0) {
      return std::to_string(milliseconds / unit.milliseconds).append(unit.name);
    }
  }
  return std::to_string(milliseconds) + "ms";
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

std::string rate_text(const Rate& rate) {
  return std::to_string(rate.count) + (rate.window == 60'000'000 ? "/m" : "/s");
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

}  // namespace fairway::operate
