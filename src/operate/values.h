// How values are written: the same words in nginx.conf and in the API. Each parser answers nothing when the text is not of its form or
// out of its range; the caller's message says what is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/pacing.h"

namespace fairway::operate {

inline constexpr Micros kMaxDuration = 365LL * 24 * 3600 * 1'000'000;  // µs; keeps every sum of times far from overflow
inline constexpr std::size_t kMaxMessage = 1'000;                      // bytes
inline constexpr std::size_t kMaxRoomName = 32;                        // bytes

// A whole number in decimal digits, low to high.
std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t low, std::uint32_t high) noexcept;

// nginx's time form: "500ms", "30s", "1h30m" (larger units first: w d h m s ms), a bare number is seconds; in µs, at most kMaxDuration.
std::optional<Micros> parse_duration(std::string_view text) noexcept;
// The shortest way to write it; whole milliseconds.
std::string duration_text(Micros time);

struct Rate {
  std::uint32_t count = 0;  // 1 to 1,000,000
  Micros window = 0;        // 1 s or 60 s
};
// "50/s" or "300/m".
std::optional<Rate> parse_rate(std::string_view text) noexcept;
std::string rate_text(const Rate& rate);

// [a-z0-9-]{1,32}, and not one of the words that mean something else where a room is used.
bool is_room_name(std::string_view text) noexcept;

// A host name as a cookie's Domain takes it, a leading dot allowed.
bool is_cookie_domain(std::string_view text) noexcept;

// Well-formed UTF-8 without control characters other than tab and line break.
bool is_plain_text(std::string_view text) noexcept;

// Well-formed UTF-8 (no surrogates, nothing above U+10FFFF).
bool is_utf8(std::string_view text) noexcept;

}  // namespace fairway::operate
