// When to ask again, and how long it may take: poll intervals, estimated waits, Retry-After.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace fairway {

using Micros = std::int64_t;  // µs of the store's clock

// What a waiter of this rank (1 is next) is told: clamp(min × rank / 50, min, max), µs. 0 < min <= max.
Micros poll_interval(std::uint64_t rank, Micros min, Micros max) noexcept;

// The interval with ±10 % jitter from `random` (any 64 random bits), in whole seconds for Retry-After and JSON; at least 1.
std::uint32_t jittered_seconds(Micros interval, std::uint64_t random) noexcept;

// Admission rate of one room from the ever-growing admitted counter of its answers, and from it the wait.
// Plain data that may lie in shared memory (all zero: empty); the caller locks.
//
// The rate is an exponential average of an exponential average: two of 1 min in a row remember as long as one of 2 min but pass on
// far less of the beat of a room that admits in bursts. While fewer than ten admissions fall in its memory that grows, up to 5 times.
// A quicker average, of a third, runs beside it; when for a while it is nearly always on the same side of the slow one (tracking
// signal of Trigg and Leach, "Exponential smoothing with an adaptive response rate", 1967), the rate has changed and the slow
// average is drawn to it. A burst is not a change, so the lower of the two would not do: between bursts it is zero.
//
// A room that admits many at once and nobody in between (a limit of N a minute; a first crowd whose stays end together) has a beat. The
// wait then is a whole number of beats, less what of the running one is over: see Beat.
//
// The wait solves d(ahead)/dt = -rate - ahead × (leavers per waiter and second): leavers go from all over the line, so that what
// is ahead of a far waiter shrinks faster. The figure may rise when the rate falls; whoever shows it damps that if wanted.
struct RateEstimator {
  // Admissions come in clumps with quiet times of the same length between them.
  struct Beat {
    Micros at = 0;           // when the running clump began, or the last one; 0: none since the line formed
    double length = 0;       // s that it has taken so far
    double size = 0;         // admissions in it so far
    double gap = 0;          // average time from the beginning of one clump to that of the next, s
    double spread = 0;       // average distance of these times from their average
    double mean_size = 0;    // average of whole clumps
    std::uint32_t gaps = 0;  // times seen

    void note(Micros now, double quiet, double admissions) noexcept;
    // s into the running beat; nullopt when there is none that could be told.
    std::optional<double> into(Micros now) const noexcept;
  };

  static constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

  Micros last = 0;             // time of the last sample; 0: none
  Micros busy = 0;             // when a line was last seen moving or standing
  std::uint64_t admitted = 0;  // counters at the last sample
  std::uint64_t abandoned = 0;
  std::uint32_t waiting = 0;
  double age = 0;     // s of line that the averages have seen
  double still = 0;   // s of line since an admission was last seen
  double memory = 0;  // of each average, s
  double first = 0;   // first average of admissions per second, and the weight it has gathered (1: full)
  double first_weight = 0;
  double second = 0;  // average of the first
  double second_weight = 0;
  double fast = 0;   // quicker average
  double drift = 0;  // average of fast - slow, with its sign and without
  double spread = 0;
  double left = 0;       // waiters that gave up, per second
  double last_rate = 0;  // per_second when an admission was last seen
  Beat beat;

  // Call with each answer of the store; samples closer than 1 s are folded together. `people` are those in line: while nobody
  // waits, admissions tell how many come, not how fast a line moves, so such times are left out (kUnknown: counts as a line).
  // A counter or a time that went back (new epoch) restarts it, as do 10 min without a sample or a line.
  void sample(Micros now, std::uint64_t admitted_total, std::uint64_t abandoned_total, std::uint32_t people = kUnknown) noexcept;
  // Admissions per second, 0 when nothing is known.
  double per_second() const noexcept;
  // Seconds until the waiter of `rank` is called, at least 1. `rate_limit` is the configured admissions per second (0: none) and
  // caps the rate. nullopt when it cannot be told: no admission seen yet, none for 2 min though several were due, or over a day.
  std::optional<std::uint32_t> wait(std::uint64_t rank, double rate_limit) const noexcept;

 private:
  void average(double seconds, double admissions, double leavers) noexcept;
  void follow_change(double seconds) noexcept;
};

}  // namespace fairway
