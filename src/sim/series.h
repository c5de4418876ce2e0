// A value over time in a memory that does not grow: when there are too many points, two become one and each covers twice the time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/pacing.h"

namespace fairway::sim {

class Series {
 public:
  // A value each second, from second 0 on, in order.
  void add(double value) {
    if (in_last_ == width_) {
      if (points_.size() == kMost) halve();
      points_.push_back(0);
      in_last_ = 0;
    }
    points_.back() += (value - points_.back()) / static_cast<double>(++in_last_);
    most_ = std::max(most_, value);
    sum_ += value;
    ++count_;
  }

  // Means over `seconds()` each; the last may cover less.
  const std::vector<double>& points() const noexcept { return points_; }
  std::size_t seconds() const noexcept { return width_; }
  double most() const noexcept { return most_; }
  double mean() const noexcept { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

 private:
  static constexpr std::size_t kMost = 600;

  void halve() {
    for (std::size_t i = 0; i < kMost / 2; ++i) points_[i] = (points_[2 * i] + points_[2 * i + 1]) / 2;
    points_.resize(kMost / 2);
    width_ *= 2;
  }

  std::vector<double> points_;
  std::size_t width_ = 1;
  std::size_t in_last_ = 1;  // seconds in the last point
  double most_ = 0;
  double sum_ = 0;
  std::size_t count_ = 0;
};

}  // namespace fairway::sim
