#include "sim/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fairway::sim {

namespace {

constexpr unsigned kSteps = 16;            // in an octave
constexpr std::int64_t kUnit = 1'000;      // µs: below 16 of these every bucket is one wide
constexpr std::size_t kBuckets = 16 * 32;  // up to 200 days

// Units at which a bucket begins.
double begin_of(std::size_t bucket) noexcept {
  if (bucket < kSteps) return static_cast<double>(bucket);
  return std::ldexp(static_cast<double>(kSteps + bucket % kSteps), static_cast<int>(bucket / kSteps) - 1);
}

}  // namespace

Histogram::Histogram() : counts_(kBuckets) {}

std::size_t Histogram::bucket_of(std::int64_t micros) noexcept {
  const auto units = static_cast<std::uint64_t>(std::max<std::int64_t>(micros, 0) / kUnit);
  if (units < kSteps) return static_cast<std::size_t>(units);
  const unsigned octave = static_cast<unsigned>(std::bit_width(units)) - 5;  // 16 to 31 are octave 0
  return std::min<std::size_t>(kBuckets - 1, (octave + 1) * kSteps + ((units >> octave) - kSteps));
}

void Histogram::add(std::int64_t micros) noexcept {
  ++counts_[bucket_of(micros)];
  ++count_;
  longest_ = std::max(longest_, micros);
  sum_ += static_cast<double>(micros);
}

void Histogram::add(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  longest_ = std::max(longest_, other.longest_);
  sum_ += other.sum_;
}

double Histogram::quantile(double share) const noexcept {
  const double wanted = std::max(1.0, share * static_cast<double>(count_));
  double seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (counts_[i] == 0 || seen < wanted) continue;
    // Waits of nothing are exact; others lie in the middle of their bucket.
    const double value = i == 0 ? 0 : (begin_of(i) + begin_of(i + 1)) / 2 * static_cast<double>(kUnit);
    return std::min(value, static_cast<double>(longest_));
  }
  return 0;
}

double Histogram::share_until(std::int64_t micros) const noexcept {
  if (count_ == 0) return 0;
  if (micros >= longest_) return 1;
  const std::size_t bucket = bucket_of(micros);
  double seen = 0;
  for (std::size_t i = 0; i < bucket; ++i) seen += counts_[i];
  // Those of the bucket lie evenly in it, but for the waits of nothing.
  const double into =
      (static_cast<double>(micros) / static_cast<double>(kUnit) - begin_of(bucket)) / (begin_of(bucket + 1) - begin_of(bucket));
  return (seen + counts_[bucket] * (bucket == 0 ? 1 : into)) / static_cast<double>(count_);
}

}  // namespace fairway::sim
