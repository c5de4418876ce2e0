#include "core/queue_histogram.h"

#include <algorithm>
#include <cmath>

namespace fairway::queue {
namespace {

constexpr Nanos kTurn = 60 * kSecond;

std::size_t bucket_of(Nanos value) noexcept {
  if (value <= 0) return 0;
  if (value <= kMillisecond) return 1;
  const double octaves = std::log2(static_cast<double>(value) / kMillisecond);
  return std::min(kBuckets - 1, 1 + static_cast<std::size_t>(std::ceil(4 * octaves)));
}

Nanos quantile(const Histogram& a, const Histogram& b, double share) noexcept {
  const double wanted = share * static_cast<double>(a.count + b.count);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += a.counts[i] + b.counts[i];
    if (seen != 0 && static_cast<double>(seen) >= wanted) return bucket_bound(i);
  }
  return 0;
}

}  // namespace

Nanos bucket_bound(std::size_t index) noexcept {
  if (index == 0) return 0;
  const double octaves = static_cast<double>(std::min(index, kBuckets - 2) - 1) / 4;
  return static_cast<Nanos>(std::llround(static_cast<double>(kMillisecond) * std::exp2(octaves)));
}

void Histogram::add(Nanos value) noexcept {
  ++counts[bucket_of(value)];
  ++count;
  sum += value;
}

void RecentHistogram::add(Nanos value, Nanos now) noexcept {
  if (now - turned >= kTurn) {
    previous = now - turned < 2 * kTurn ? current : Histogram{};
    current = Histogram{};
    turned = now;
  }
  current.add(value);
}

Percentiles RecentHistogram::percentiles(Nanos now) const noexcept {
  static constexpr Histogram none{};
  const Nanos age = now - turned;
  const Histogram& recent = age < 2 * kTurn ? current : none;
  const Histogram& before = age < kTurn ? previous : none;
  return {quantile(recent, before, 0.5), quantile(recent, before, 0.9), quantile(recent, before, 0.99)};
}

}  // namespace fairway::queue
