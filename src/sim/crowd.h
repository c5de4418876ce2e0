// When visitors come and how long things last that people decide.
#pragma once

#include <cstdint>
#include <optional>

#include "core/pacing.h"
#include "sim/random.h"

namespace fairway::sim {

enum class Shape : std::uint8_t {
  fixed,
  uniform,      // from nothing to twice the mean
  exponential,  // no memory
  heavy,        // Pareto, shape 1.5, at most 100 times the mean: many short ones, a few very long ones
};

struct Duration {
  Shape shape = Shape::fixed;
  Micros mean = 0;

  Micros draw(Random& random) const;
};

enum class Arrivals : std::uint8_t {
  constant,  // evenly
  poisson,   // independently of each other
  burst,     // half of them in the first minute (or half of the time, if that is shorter), the others independently after it
  heavy,     // in clumps: Pareto gaps, shape 1.5
};

// The times at which `count` visitors come within `over`, from the first to the last, made one by one.
class ArrivalTimes {
 public:
  ArrivalTimes(Arrivals kind, std::uint64_t count, Micros over, std::uint64_t seed);

  std::optional<Micros> next();

 private:
  double quantile(double share) const;

  Arrivals kind_;
  std::uint64_t count_;
  Micros over_;
  Random random_;
  std::uint64_t made_ = 0;
  double left_ = 1;  // what is left of the unit interval from which the visitors' shares are drawn
  double clumped_ = 0;
};

}  // namespace fairway::sim
