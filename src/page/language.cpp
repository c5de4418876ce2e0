#include <algorithm>
#include <array>
#include <optional>

#include "page/page.h"

namespace fairway::page {
namespace {

constexpr std::size_t kLongestHeader = 1000;
constexpr int kUnset = -1;

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// What stands before the first `mark`; `text` is left with what stands behind it.
std::string_view take(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

// "0.8" as 800, RFC 9110 12.4.2: 0 to 1 with at most three decimals.
std::optional<int> thousandths(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  int value = (text[0] - '0') * 1000;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int weight = 100;
  for (std::size_t i = 2; i < text.size(); ++i, weight /= 10) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value += (text[i] - '0') * weight;
  }
  return value <= 1000 ? std::optional(value) : std::nullopt;
}

// The quality that the parameters of a language range give; none when they are malformed.
std::optional<int> quality(std::string_view parameters) {
  int found = 1000;
  while (!parameters.empty()) {
    const std::string_view parameter = trimmed(take(parameters, ';'));
    if (parameter.size() < 2 || lower(parameter[0]) != 'q' || parameter[1] != '=') continue;
    const auto value = thousandths(parameter.substr(2));
    if (!value) return std::nullopt;
    found = *value;
  }
  return found;
}

// "zh-TW" is Chinese to us; "*" is no language.
std::optional<std::size_t> language_index(std::string_view range) {
  const std::string_view primary = take(range, '-');
  if (primary.size() != 2) return std::nullopt;
  for (std::size_t i = 0; i < kLanguages; ++i) {
    const std::string_view known = tag(static_cast<Language>(i));
    if (lower(primary[0]) == known[0] && lower(primary[1]) == known[1]) return i;
  }
  return std::nullopt;
}

}  // namespace

Language choose_language(std::string_view accept_language) noexcept {
  std::string_view rest = accept_language.substr(0, kLongestHeader);
  std::array<int, kLanguages> wanted;
  wanted.fill(kUnset);
  int anything = kUnset;
  std::size_t best = static_cast<std::size_t>(Language::en);
  int best_quality = 0;
  while (!rest.empty()) {
    std::string_view item = take(rest, ',');
    const std::string_view range = trimmed(take(item, ';'));
    const auto q = quality(item);
    if (!q) continue;
    if (range == "*") anything = *q;
    const auto index = language_index(range);
    if (!index) continue;
    wanted[*index] = std::max(wanted[*index], *q);
    if (*q > best_quality) {  // of equals the first named
      best = *index;
      best_quality = *q;
    }
  }
  for (std::size_t i = 0; i < kLanguages; ++i) {  // "*" stands for those not named
    if (wanted[i] == kUnset && anything > best_quality) {
      best = i;
      best_quality = anything;
    }
  }
  return static_cast<Language>(best);
}

}  // namespace fairway::page
