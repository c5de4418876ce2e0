#include "cli/simulate_values.h"

#include <array>
#include <charconv>
#include <utility>

#include "cli/failure.h"
#include "operate/values.h"

namespace fairway::cli {
namespace {

using sim::Arrivals;
using sim::Shape;

constexpr std::array<std::pair<const char*, Shape>, 4> kShapes{
    {{"fixed", Shape::fixed}, {"uniform", Shape::uniform}, {"exponential", Shape::exponential}, {"heavy", Shape::heavy}}};
constexpr std::array<std::pair<const char*, Arrivals>, 4> kArrivals{
    {{"constant", Arrivals::constant}, {"poisson", Arrivals::poisson}, {"burst", Arrivals::burst}, {"heavy", Arrivals::heavy}}};

template <class Names, class Value>
const char* name_in(const Names& names, Value value) noexcept {
  for (const auto& [name, each] : names) {
    if (each == value) return name;
  }
  return "";
}

}  // namespace

Micros parse_time(std::string_view text) {
  const auto time = operate::parse_duration(text);
  if (!time || *time == 0) throw UsageError("give a time above 0 and at most 365d, such as 30s, 10m or 1h");
  return *time;
}

double parse_share(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (percent) value /= 100;
  const bool fits = error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= 1;
  if (!fits) throw UsageError("give a share from 0 to 100%, such as 20% or 0.2");
  return value;
}

sim::Duration parse_length(std::string_view text, Shape shape) {
  const auto comma = text.find_first_of(", ");
  if (comma == std::string_view::npos) return {shape, parse_time(text)};
  for (const auto& [name, each] : kShapes) {
    if (text.substr(0, comma) == name) return {each, parse_time(text.substr(comma + 1))};
  }
  throw UsageError("give TIME or SHAPE,TIME with SHAPE fixed, uniform, exponential or heavy, such as heavy,10m");
}

Arrivals parse_arrivals(std::string_view text) {
  for (const auto& [name, each] : kArrivals) {
    if (text == name) return each;
  }
  throw UsageError("give constant, poisson, burst or heavy");
}

const char* shape_name(Shape shape) noexcept {
  return name_in(kShapes, shape);
}

const char* arrivals_name(Arrivals arrivals) noexcept {
  return name_in(kArrivals, arrivals);
}

std::string flag_of(std::string_view field) {
  std::string flag = "--" + std::string(field);
  for (char& c : flag) c = c == '_' ? '-' : c;
  return flag;
}

}  // namespace fairway::cli
