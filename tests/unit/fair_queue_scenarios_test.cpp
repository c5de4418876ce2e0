// Scenarios with their bounds: light users beside hogs, overfull queues, shares of slot time, workers, floods.
#include <gtest/gtest.h>

#include "queue_scenarios.h"

namespace fairway::sim::scenarios {
namespace {

using FromTwo = Scenario;
using FromFour = Scenario;
using FromEight = Scenario;
const auto in_name = [](const auto& info) { return "c" + std::to_string(info.param); };
INSTANTIATE_TEST_SUITE_P(Concurrency, FromTwo, ::testing::Values(2, 4, 8, 16, 32), in_name);
INSTANTIATE_TEST_SUITE_P(Concurrency, FromFour, ::testing::Values(4, 8, 16, 32), in_name);
INSTANTIATE_TEST_SUITE_P(Concurrency, FromEight, ::testing::Values(8, 16, 32), in_name);

TEST_P(FromTwo, T1LightUsersBesideAHog) {
  const Report report = play(at_c(), {light(), hog(100, 100, 100)}, 5);
  EXPECT_LE(report["light"].wait(0.99), alone(light()) + 30 * ms);
  EXPECT_EQ(report["light"].failed(), 0U);
  EXPECT_GE(share(at_c(), report["hog"], 5), without_lane() - 0.05);
}

TEST(Scenario, T1ControlInOrderOfArrival) {
  for (const std::uint32_t c : {1U, 2U, 4U, 8U}) {
    Settings control = settings(c);
    control.limits.order = queue::Order::fifo;
    EXPECT_GT(play(control, {light(), hog(100, 100, 100)})["light"].wait(0.99), 1 * s) << c;
  }
}

TEST_P(FromTwo, T2LightUsersBesideHogsOfLongRequests) {
  Settings settings = at_c();
  settings.length = 75 * s;
  settings.warm_up = 15 * s;
  for (const std::uint32_t hogs : {1U, 3U, 10U, 40U}) {
    const Report report = play(settings, {light(), slow_hogs(hogs)}, 5);
    EXPECT_LE(report["light"].wait(0.99), alone(light()) + 50 * ms) << hogs;
    EXPECT_EQ(report["light"].failed(), 0U) << hogs;
  }
}

// From the moment the hogs come: their first requests are as unknown as a visitor's, and all end long after the light users asked.
TEST_P(FromTwo, T2HogsWhoseRequestsAllTakeLong) {
  Settings settings = at_c();
  settings.warm_up = 0;
  const Nanos before = alone(light());
  for (const std::uint32_t hogs : {1U, 3U, 10U, 40U}) {
    for (const Nanos length : {2'000, 10'000}) {
      Clients clients = slow_hogs(hogs);
      clients.service = range(length, length);
      const Report report = play(settings, {light(), clients});
      EXPECT_LE(report["light"].wait(0.99), before + 50 * ms) << hogs << " of " << length;
      EXPECT_LE(report["light"].wait(1), 150 * ms) << hogs << " of " << length;
      EXPECT_EQ(report["light"].failed(), 0U) << hogs << " of " << length;
      EXPECT_GE(share(settings, report["hog"]), without_lane() * 0.85) << hogs << " of " << length;  // they come after 8 of 60 s
    }
  }
}

TEST_P(FromTwo, T2AHogAlone) {
  Settings settings = at_c();
  settings.length = 75 * s;
  settings.warm_up = 20 * s;
  Clients gone = light();
  gone.end = 8 * s;
  EXPECT_GE(share(settings, play(settings, {gone, slow_hogs(1)})["hog"]), 0.95);
}

TEST_P(FromTwo, T3NobodyElseIsRefusedWhenAHogOverfillsTheQueue) {
  Clients overfull = hog(600, 100, 100);
  overfull.pause = range(50, 250);
  Clients neighbour = light(1);
  neighbour.name = "neighbour";
  neighbour.first_network = 1;
  Clients newcomers = light(40);
  newcomers.name = "newcomers";
  newcomers.first_network = 500;
  newcomers.begin = range(6'000, 50'000);
  newcomers.requests = 3;
  const Report report = play(at_c(), {light(), overfull, neighbour, newcomers}, 2);
  for (const char* group : {"light", "neighbour", "newcomers"}) {
    EXPECT_GT(report[group].served, 0U);
    EXPECT_EQ(report[group].failed(), 0U) << group;
    EXPECT_LE(report[group].wait(0.99), 100 * ms) << group;
  }
  EXPECT_GT(report["hog"].full + report["hog"].evicted, 0U);
}

TEST_P(FromFour, T4LongAndShortRequestsShareTheTime) {
  Clients quick = hog(100, 10, 10);
  quick.name = "quick";
  quick.first_network = 2;
  const Report report = play(at_c(), {hog(100, 1'000, 1'000), quick}, 1);
  const auto& slow_time = report["hog"].slot_time_by_window;
  const auto& quick_time = report["quick"].slot_time_by_window;
  for (std::size_t i = 3; i + 2 < slow_time.size(); ++i) {
    const double part = static_cast<double>(quick_time[i]) / static_cast<double>(quick_time[i] + slow_time[i]);
    EXPECT_GE(part, 0.45) << i;
    EXPECT_LE(part, 0.55) << i;
  }
  EXPECT_GE(jain({report["hog"].slot_time, report["quick"].slot_time}), 0.99);
}

TEST_P(FromTwo, T5OneHeavyAndTwentyMediumClients) {
  Clients medium = hog(2, 200, 200);
  medium.name = "medium";
  medium.first_network = 10;
  medium.networks = 20;
  for (int i = 0; i < 3; ++i) {
    const Report report = play(at_c(), {hog(50, 2'000, 2'000), medium}, 1);
    std::vector<Nanos> times = report["medium"].slot_time_by_session;
    times.push_back(report["hog"].slot_time);
    EXPECT_GE(jain(times), 0.98);
    EXPECT_LE(in_ms(report["medium"].wait(0.99)), 10'400.0 / c());
  }
}

TEST_P(FromEight, T6FiftySessionsAgainstOne) {
  Clients office = hog(2, 50, 50);
  office.name = "office";
  office.sessions = 50;
  Clients one = hog(100, 50, 50);
  one.first_network = 2;
  const Report report = play(at_c(), {office, one}, 1);
  EXPECT_NEAR(share(at_c(), report["office"], 1) / (share(at_c(), report["office"], 1) + share(at_c(), report["hog"], 1)), 0.5, 0.05);
  EXPECT_GE(jain(report["office"].slot_time_by_session), 0.95);
}

// T8: 1,000 networks overload the site a little. They join over 30 s; a newcomer who comes just then may be refused once (at most
// one in 500), but when all have come nobody is, and clients of old do not wait longer than the others.
TEST(Scenario, T8AThousandNetworks) {
  Settings settings8 = settings(8);
  settings8.length = 100 * s;
  Clients crowd = hog(1, 100, 100);
  crowd.name = "crowd";
  crowd.networks = 1'000;
  crowd.first_network = 1'000;
  crowd.think = range(10'000, 10'000);
  crowd.begin = range(1, 30'000);
  crowd.give_up = true;
  Clients returning = crowd;
  returning.name = "returning";
  returning.networks = 20;
  returning.first_network = 1;
  returning.begin = range(1, 3'000);
  const Report joining = play(settings8, {crowd, returning});
  EXPECT_EQ(joining["returning"].failed(), 0U);
  EXPECT_LE(joining["crowd"].failed() * 500, joining["crowd"].sent);
  settings8.warm_up = 50 * s;
  const Report report = play(settings8, {crowd, returning});
  EXPECT_EQ(report["crowd"].failed(), 0U);
  EXPECT_EQ(report["returning"].failed(), 0U);
  EXPECT_LE(in_ms(report["returning"].wait(0.99)), 1.2 * in_ms(report["crowd"].wait(0.99)));
}

// T20: T1 with its load on several workers, all light users at one of them, and wakes that take a while.
TEST(Scenario, T20SeveralWorkers) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    Settings several = settings(8);
    several.workers = workers;
    several.wake_delay = 1 * ms;
    Clients pinned = light();
    pinned.worker = 0;
    const Report report = play(several, {pinned, hog(100, 100, 100)});
    EXPECT_LE(report["light"].wait(0.99), 30 * ms) << workers;
    EXPECT_EQ(report["light"].failed(), 0U);
    EXPECT_GE(share(several, report["hog"]), 7.0 / 8 - 0.05);
  }
}

TEST_P(FromEight, T28AFloodPasses) {
  Settings settings = at_c();
  settings.length = 90 * s;
  Clients flood = hog(3 * c(), 100, 100);
  flood.networks = 10;
  flood.end = 60 * s;
  flood.pause = range(100, 500);
  Clients after = light();
  after.name = "after";
  after.first_network = 300;
  after.begin = range(70'000, 71'000);  // one timeout after it has stopped
  const Report report = play(settings, {light(), flood, after});
  double goodput = 0;
  for (std::size_t i = 3; i < 30; ++i)
    goodput += static_cast<double>(report["hog"].slot_time_by_window[i] + report["light"].slot_time_by_window[i]);
  EXPECT_GE(goodput / (3 * 54e9 * c()), without_lane() - 0.02);
  EXPECT_EQ(report["light"].failed(), 0U);
  EXPECT_LE(report["after"].wait(0.99), 1 * ms);
}

// X1: the clock keeps up, so that a second hog gets its share at once.
TEST_P(FromTwo, X1ASecondHogAfterAMinute) {
  Settings settings = at_c();
  settings.length = 75 * s;
  settings.window = 1 * s;
  Clients ones = hog(1, 100, 100);
  ones.name = "ones";
  ones.networks = 3;
  ones.first_network = 10;
  Clients second = hog(100, 100, 100);
  second.name = "second";
  second.first_network = 2;
  second.begin = range(60'000, 60'010);
  const Report report = play(settings, {ones, hog(100, 100, 100), second}, 5);
  for (std::size_t i = 61; i < 74; ++i) {
    const auto mine = static_cast<double>(report["second"].slot_time_by_window[i]);
    EXPECT_GE(2 * mine / (mine + static_cast<double>(report["hog"].slot_time_by_window[i])), 0.9) << i;
  }
}

}  // namespace
}  // namespace fairway::sim::scenarios
