#include "cli/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fairway::cli {

std::string sparkline(const std::vector<std::optional<double>>& values, std::size_t columns) {
  constexpr std::array<const char*, 8> bars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t shown = std::min(columns, values.size());
  const auto first = values.end() - static_cast<std::ptrdiff_t>(shown);
  double most = 0;
  std::for_each(first, values.end(), [&most](const auto& value) { most = std::max(most, value.value_or(0)); });
  std::string text(columns - shown, ' ');
  std::for_each(first, values.end(), [&](const auto& value) {
    if (!value) {
      text += ' ';
      return;
    }
    // Something is never drawn as nothing: above 0 is the second bar at least.
    const double share = most > 0 ? std::clamp(*value / most, 0.0, 1.0) : 0;
    const double bar = share > 0 ? std::max(1.0, std::round(share * 7)) : 0;
    text += bars.at(static_cast<std::size_t>(bar));
  });
  return text;
}

}  // namespace fairway::cli
