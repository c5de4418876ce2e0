// Chance for simulations: the same numbers for a seed on every machine, which the standard library's distributions do not promise.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace fairway::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  bool chance(double share) { return unit() < share; }
  double exponential(double mean) { return -mean * std::log1p(-unit()); }
  // The mean is finite, the variance is not for a shape of at most 2. shape > 1.
  double pareto(double mean, double shape) { return mean * (shape - 1) / shape / std::pow(1 - unit(), 1 / shape); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace fairway::sim
