// The value of a Cookie request header: finding cookies, and taking Fairway's own out before the application sees it.
// Nothing is allocated and nothing is unquoted or decoded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace fairway {

inline constexpr std::string_view kTicketCookie = "fairway_ticket_";  // the room's name follows
inline constexpr std::string_view kPassCookie = "fairway_pass_";
inline constexpr std::size_t kMaxSameCookies = 4;  // of one name, that are worth looking at

// The pieces between the `;` of a header, with name and value freed of blanks around them. A piece without `=` is all name.
class CookieReader {
 public:
  explicit CookieReader(std::string_view header) noexcept : rest_(header), ended_(header.empty()) {}

  // Goes to the next piece; false at the end.
  bool next() noexcept;
  std::string_view name() const noexcept { return name_; }
  std::string_view value() const noexcept { return value_; }
  std::string_view piece() const noexcept { return piece_; }  // as it stands, without the `;`

 private:
  std::string_view rest_;
  bool ended_;
  std::string_view piece_;
  std::string_view name_;
  std::string_view value_;
};

// Values of the first cookies with exactly this name, as many as `out` has room for, in order. Returns how many.
// Several Cookie headers: call for each with what is left of `out`.
std::size_t find_cookies(std::string_view header, std::string_view name, std::span<std::string_view> out) noexcept;

struct StrippedCookies {
  std::size_t size = 0;  // of what was written; 0: no cookie is left, the header should go
  bool removed = false;  // false: what was written is the header as it was
};

bool is_fairway_cookie(std::string_view name) noexcept;
std::string_view without_leading_blanks(std::string_view text) noexcept;

// Writes the header without the cookies whose names start with kTicketCookie or kPassCookie, and calls ours(name, value) for each of
// those; the others stay as they are, in order. `out` has at least the header's size and does not overlap it.
template <class F>
StrippedCookies strip_cookies(std::string_view header, std::span<char> out, F ours) noexcept {
  StrippedCookies result;
  char* at = out.data();
  bool first = true;
  bool any_left = false;
  CookieReader reader(header);
  while (reader.next()) {
    if (is_fairway_cookie(reader.name())) {
      ours(reader.name(), reader.value());
      result.removed = true;
      continue;
    }
    // The blank after a `;` goes with the `;`.
    const std::string_view piece = first && result.removed ? without_leading_blanks(reader.piece()) : reader.piece();
    if (!first) *at++ = ';';
    at = std::copy(piece.begin(), piece.end(), at);
    first = false;
    any_left = any_left || !without_leading_blanks(piece).empty();
  }
  if (any_left) result.size = static_cast<std::size_t>(at - out.data());
  return result;
}

}  // namespace fairway
