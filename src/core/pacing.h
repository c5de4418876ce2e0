// When to ask again, and how long it may take: poll intervals, estimated waits, Retry-After.
#pragma once

#include <cstdint>
#include <optional>

namespace fairway {

using Micros = std::int64_t;  // µs of the store's clock

// What a waiter of this rank (1 is next) is told: clamp(min × rank / 50, min, max), µs.
Micros poll_interval(std::uint64_t rank, Micros min, Micros max) noexcept;

// The interval with ±10 % jitter from `random` (any 64 random bits), in whole seconds for Retry-After and JSON; at least 1.
std::uint32_t jittered_seconds(Micros interval, std::uint64_t random) noexcept;

// Admission rate of one room from the ever-growing admitted counter of its answers: a fast (10 s) and a slow (2 min) average,
// the slower of the two counts when the rate falls. Plain data that may lie in shared memory; the caller locks.
// Estimate = people ahead × share that stays ÷ rate; nullopt when nothing is known (no admission seen yet, or the line stands still).
struct RateEstimator {
  Micros last = 0;             // time of the last sample; 0: none
  std::uint64_t admitted = 0;  // counter at that time
  std::uint64_t abandoned = 0;
  double fast = 0;             // admissions per second
  double slow = 0;
  double left_fast = 0;        // waiters that gave up, per second
  Micros since = 0;            // time of the first sample

  // Call with each answer of the store; samples closer than 1 s are folded together. A counter that went back (new epoch) restarts it.
  void sample(Micros now, std::uint64_t admitted_total, std::uint64_t abandoned_total) noexcept;
  double per_second() const noexcept;
  // Seconds until the waiter of `rank` is called. `rate_limit` is the configured admissions per second (0: none) and caps the estimate.
  std::optional<std::uint32_t> wait(std::uint64_t rank, double rate_limit) const noexcept;
};

}  // namespace fairway
