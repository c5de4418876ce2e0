// Delays that grow with each try and differ between workers and gateways, so that a store that is back is not met by all at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/pacing.h"

namespace fairway::valkey {

// SplitMix64: enough to spread retries, nothing to keep a secret with.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) noexcept : state_(seed) {}
  // Evenly spread in [low, high].
  Micros between(Micros low, Micros high) noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return low + static_cast<Micros>(mixed % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

// Doubles from `first` to `most`; each delay lies between half of the step and the whole.
class Backoff {
 public:
  constexpr Backoff(Micros first, Micros most) noexcept : first_(first), most_(most), step_(first) {}
  Micros next(Jitter& jitter) noexcept {
    const Micros step = step_;
    step_ = std::min(most_, step_ * 2);
    return jitter.between(step / 2, step);
  }
  void reset() noexcept { step_ = first_; }

 private:
  Micros first_;
  Micros most_;
  Micros step_;
};

}  // namespace fairway::valkey
