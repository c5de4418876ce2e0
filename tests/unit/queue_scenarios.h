// The crowds of cases/fair-queue.md, for the simulator. Times in ms here.
#pragma once

#include <vector>

#include "sim/queue_sim.h"

namespace fairway::sim::scenarios {

inline constexpr Nanos ms = queue::kMillisecond;
inline constexpr Nanos s = queue::kSecond;

inline Settings settings(std::uint32_t concurrency, std::uint64_t seed) {
  Settings settings;
  settings.limits.concurrency = concurrency;
  settings.limits.light_lane = queue::default_lane(concurrency);
  settings.seed = seed;
  return settings;
}

inline Range range(Nanos low, Nanos high) {
  return {low * ms, high * ms};
}

// Networks 100…: n light users in own /24s, 20 ms, one request a second.
inline Clients light(std::uint32_t users = 10) {
  return {.name = "light",
          .networks = users,
          .first_network = 100,
          .service = range(20, 20),
          .think = range(900, 1100),
          .begin = range(1, 1000)};
}

// Network 1: many connections of one session that send as fast as they are answered.
inline Clients hog(std::uint32_t connections, Nanos low, Nanos high) {
  return {.name = "hog",
          .first_network = 1,
          .connections = connections,
          .service = range(low, high),
          .begin = range(1, 100),
          .pause = range(1, 50)};
}

}  // namespace fairway::sim::scenarios
