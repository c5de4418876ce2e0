// The crowds of cases/fair-queue.md, for the simulator. Times in ms here.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "sim/queue_sim.h"

namespace fairway::sim::scenarios {

inline constexpr Nanos ms = queue::kMillisecond;
inline constexpr Nanos s = queue::kSecond;

inline Settings settings(std::uint32_t concurrency) {
  Settings settings;
  settings.limits.concurrency = concurrency;
  settings.limits.light_lane = queue::default_lane(concurrency);
  return settings;
}

// Several runs that differ in the random start only, taken together; FAIRWAY_SEED sets the first one's. Checks that none of them ran
// or queued more than may.
inline Report play(Settings settings, const std::vector<Clients>& clients, int runs = 3) {
  const char* given = std::getenv("FAIRWAY_SEED");
  const std::uint64_t first = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  std::optional<Report> all;
  for (int i = 0; i < runs; ++i) {
    settings.seed = first + static_cast<std::uint64_t>(i);
    const Report report = simulate(settings, clients);
    EXPECT_LE(report.most_running, settings.limits.concurrency) << "seed " << settings.seed;
    EXPECT_LE(report.most_waiting, settings.limits.size) << "seed " << settings.seed;
    if (all) {
      all->add(report);
    } else {
      all = report;
    }
  }
  ::testing::Test::RecordProperty("seed", std::to_string(first));
  return *all;
}

// What a group had of all slots, from 0 to 1, averaged over `runs`.
inline double share(const Settings& settings, const Outcome& group, int runs = 3) {
  const double time = static_cast<double>(settings.length - settings.warm_up) * settings.limits.concurrency * runs;
  return static_cast<double>(group.slot_time) / time;
}

inline double in_ms(Nanos time) {
  return static_cast<double>(time) / 1e6;
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

// Hogs of 0 to 10 s requests; the light users were there before them.
inline Clients slow_hogs(std::uint32_t hogs) {
  Clients clients = hog(hogs < 10 ? 100 : 280 / hogs, 0, 10'000);
  clients.networks = hogs;
  clients.begin = range(8'000, 8'100);
  clients.pause = range(200, 1'000);
  return clients;
}

// At each concurrency. Waits of several runs are taken together: the bounds are of the policy, not of one draw.
class Scenario : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  std::uint32_t c() const { return GetParam(); }
  Settings at_c() const { return settings(c()); }
  double without_lane() const { return static_cast<double>(c() - queue::default_lane(c())) / c(); }
  Nanos alone(const Clients& clients, double quantile = 0.99) const { return play(at_c(), {clients})[clients.name].wait(quantile); }
};

}  // namespace fairway::sim::scenarios
