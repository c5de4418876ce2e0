#include "sim/crowd.h"

#include <algorithm>

namespace fairway::sim {

namespace {

constexpr double kShape = 1.5;
constexpr double kLongest = 100;  // means
constexpr Micros kOpening = 60'000'000;

}  // namespace

Micros Duration::draw(Random& random) const {
  const auto length = static_cast<double>(mean);
  switch (shape) {
    case Shape::fixed:
      break;
    case Shape::uniform:
      return static_cast<Micros>(2 * length * random.unit());
    case Shape::exponential:
      return static_cast<Micros>(random.exponential(length));
    case Shape::heavy:
      return static_cast<Micros>(std::min(random.pareto(length, kShape), kLongest * length));
  }
  return mean;
}

ArrivalTimes::ArrivalTimes(Arrivals kind, std::uint64_t count, Micros over, std::uint64_t seed)
    : kind_(kind), count_(count), over_(over), random_(seed) {}

// Independent visitors in order: the least of n uniform shares leaves the rest uniform above it, so no list is needed.
std::optional<Micros> ArrivalTimes::next() {
  if (made_ == count_) return std::nullopt;
  const std::uint64_t remaining = count_ - made_++;
  const double gap = static_cast<double>(over_) / static_cast<double>(count_);
  if (kind_ == Arrivals::constant) return static_cast<Micros>(gap * static_cast<double>(made_ - 1));
  if (kind_ == Arrivals::heavy) {
    const double at = clumped_;
    clumped_ += std::min(random_.pareto(gap, kShape), static_cast<double>(over_) / 10);
    return static_cast<Micros>(at);
  }
  left_ *= std::pow(1 - random_.unit(), 1 / static_cast<double>(remaining));
  return static_cast<Micros>(quantile(1 - left_));
}

double ArrivalTimes::quantile(double share) const {
  const auto over = static_cast<double>(over_);
  if (kind_ != Arrivals::burst) return over * share;
  const double opening = std::min(static_cast<double>(kOpening), over / 2);
  return share < 0.5 ? opening * share * 2 : opening + (over - opening) * (share * 2 - 1);
}

}  // namespace fairway::sim
