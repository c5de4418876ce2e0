// A row of numbers as bars one character wide.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fairway::cli {

// The last `columns` values, oldest first, to the right: the highest of them fills its column, 0 is the lowest bar, none a blank.
std::string sparkline(const std::vector<std::optional<double>>& values, std::size_t columns);

}  // namespace fairway::cli
