#include "core/cost_value.h"

namespace fairway {

namespace {

constexpr std::int64_t kMaxCost = 60'000'000'000;  // ns

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t';
}

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

// ns in a unit; 0: none.
std::int64_t scale_of(std::string_view unit) noexcept {
  return unit == "ns" ? 1 : unit == "us" ? 1'000 : unit == "ms" ? 1'000'000 : unit == "s" ? 1'000'000'000 : 0;
}

}  // namespace

std::optional<std::int64_t> parse_cost(std::string_view text) noexcept {
  text = trimmed(text);
  std::size_t size = 0;
  while (size < text.size() && (is_digit(text[size]) || text[size] == '.')) {
    ++size;
  }
  std::string_view number = text.substr(0, size);
  const std::int64_t scale = scale_of(trimmed(text.substr(size)));
  if (scale == 0 || number.empty() || !is_digit(number.front()) || !is_digit(number.back())) {
    return std::nullopt;
  }
  std::int64_t cost = 0;
  std::size_t i = 0;
  for (; i < number.size() && is_digit(number[i]); ++i) {
    cost = cost * 10 + (number[i] - '0');
    if (cost > kMaxCost) {  // of any unit
      return std::nullopt;
    }
  }
  if (cost > kMaxCost / scale) {
    return std::nullopt;
  }
  cost *= scale;
  if (i < number.size()) {
    std::int64_t digit = scale / 10;
    for (++i; i < number.size(); ++i, digit /= 10) {
      if (!is_digit(number[i])) {
        return std::nullopt;
      }
      cost += digit * (number[i] - '0');
    }
  }
  return cost >= 1 && cost <= kMaxCost ? std::optional(cost) : std::nullopt;
}

}  // namespace fairway
