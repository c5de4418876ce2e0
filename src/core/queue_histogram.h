// Counts of durations in buckets four to the octave: enough for percentiles within 19 % and for Prometheus. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/queue_types.h"

namespace fairway::queue {

inline constexpr std::size_t kBuckets = 70;

// Largest duration of bucket `index`: 0, then 1 ms × 2^((index − 1) / 4) up to 110 s; the last bucket has no bound and
// gives the same as the one before.
Nanos bucket_bound(std::size_t index) noexcept;

struct Histogram {
  std::array<std::uint64_t, kBuckets> counts{};
  std::uint64_t count = 0;
  Nanos sum = 0;

  void add(Nanos value) noexcept;
};

// The last minute or two: what has been added since `turned`, and in the minute before that.
struct RecentHistogram {
  Histogram current;
  Histogram previous;
  Nanos turned = 0;

  void add(Nanos value, Nanos now) noexcept;
  // Bounds of the buckets in which the quantiles lie; zeros when nothing was added lately.
  Percentiles percentiles(Nanos now) const noexcept;
};

}  // namespace fairway::queue
