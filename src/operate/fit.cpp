#include "operate/fit.h"

#include <numeric>

namespace fairway::operate {

namespace {

constexpr std::size_t kMostTried = 3;

// The next set of as many places below `count`, in order; false after the last one.
bool advance(Places& places, std::size_t count) noexcept {
  for (std::size_t i = places.size(); i-- > 0;) {
    if (places[i] + places.size() - i < count) {
      std::iota(places.begin() + static_cast<std::ptrdiff_t>(i), places.end(), places[i] + 1);
      return true;
    }
  }
  return false;
}

}  // namespace

Places fewest_to_go(std::size_t count, const std::function<bool(const Places& away)>& fits) {
  for (std::size_t size = 1; size <= std::min(kMostTried, count); ++size) {
    Places away(size);
    std::iota(away.begin(), away.end(), std::size_t{0});
    do {
      if (fits(away)) {
        return away;
      }
    } while (advance(away, count));
  }
  Places all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace fairway::operate
