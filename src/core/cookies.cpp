#include "core/cookies.h"

#include <algorithm>

namespace fairway {
namespace {

// Plain loops: blanks are few, and every request of a visitor comes through here.
constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t';
}

std::string_view trim(std::string_view text) noexcept {
  text = without_leading_blanks(text);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

bool is_fairway_cookie(std::string_view name) noexcept {
  return name.starts_with(kTicketCookie) || name.starts_with(kPassCookie);
}

std::string_view without_leading_blanks(std::string_view text) noexcept {
  std::size_t blanks = 0;
  while (blanks < text.size() && is_blank(text[blanks])) ++blanks;
  return text.substr(blanks);
}

bool CookieReader::next() noexcept {
  if (ended_) return false;
  const std::size_t end = rest_.find(';');
  ended_ = end == std::string_view::npos;
  piece_ = rest_.substr(0, end);
  rest_.remove_prefix(ended_ ? rest_.size() : end + 1);
  const std::size_t equals = std::min(piece_.find('='), piece_.size());
  name_ = trim(piece_.substr(0, equals));
  value_ = equals == piece_.size() ? std::string_view{} : trim(piece_.substr(equals + 1));
  return true;
}

std::size_t find_cookies(std::string_view header, std::string_view name, std::span<std::string_view> out) noexcept {
  std::size_t found = 0;
  CookieReader reader(header);
  while (found < out.size() && reader.next()) {
    if (reader.name() == name) out[found++] = reader.value();
  }
  return found;
}

}  // namespace fairway
