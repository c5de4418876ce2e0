#include "cli/missing_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "cli/table.h"

namespace fairway::cli {
namespace {

constexpr std::size_t kNamed = 5;

// How many letters one has to add, take away, change or swap with the next to make `b` of `a` (optimal string alignment).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  std::iota(cost[0].begin(), cost[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    cost[i][0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({changed, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string missing_name(const std::string& kind, const std::string& name, std::vector<std::string> names) {
  const std::string none = "There is no " + kind + " " + name;
  if (names.empty()) return none + ", and no other.";
  std::stable_sort(names.begin(), names.end(),
                   [&name](const std::string& a, const std::string& b) { return distance(a, name) < distance(b, name); });
  const std::size_t named = std::min(names.size(), kNamed);
  std::string list = printable(names.front());
  for (std::size_t i = 1; i < named; ++i) list += (i + 1 == names.size() ? " and " : ", ") + printable(names[i]);
  if (named < names.size()) list += " and " + std::to_string(names.size() - named) + " more";
  return none + "; there " + (names.size() == 1 ? "is " : "are ") + list + ".";
}

}  // namespace fairway::cli
