// Counts of times in buckets 16 to the octave: quantiles within 3 % from a memory that does not grow with what is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairway::sim {

class Histogram {
 public:
  Histogram();

  void add(std::int64_t micros) noexcept;  // below 0 counts as 0
  void add(const Histogram& other) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  std::int64_t longest() const noexcept { return longest_; }
  double mean() const noexcept { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The value that this share of the counted ones do not exceed, µs; 0 when there are none.
  double quantile(double share) const noexcept;
  // Of the counted ones, how many are at most so long; for a curve.
  double share_until(std::int64_t micros) const noexcept;

 private:
  static std::size_t bucket_of(std::int64_t micros) noexcept;

  std::vector<std::uint32_t> counts_;
  std::uint64_t count_ = 0;
  std::int64_t longest_ = 0;
  double sum_ = 0;
};

}  // namespace fairway::sim
