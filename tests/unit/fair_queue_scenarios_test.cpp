// The scenarios of a fair queue that a clock can express, with their bounds: hogs, overfull queues, shares, swarms, offices, pages.
#include <gtest/gtest.h>

#include "queue_scenarios.h"

namespace fairway::sim::scenarios {
namespace {

// At each concurrency. Waits of several runs are taken together: the bounds are of the policy, not of one draw.
class Scenario : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  std::uint32_t c() const { return GetParam(); }
  Settings at_c() const { return settings(c()); }
  double without_lane() const { return static_cast<double>(c() - queue::default_lane(c())) / c(); }
  Nanos alone(const Clients& clients, double quantile = 0.99) const { return play(at_c(), {clients})[clients.name].wait(quantile); }
};

using FromTwo = Scenario;
using FromFour = Scenario;
using FromEight = Scenario;
const auto in_name = [](const auto& info) { return "c" + std::to_string(info.param); };
INSTANTIATE_TEST_SUITE_P(Concurrency, FromTwo, ::testing::Values(2, 4, 8, 16, 32), in_name);
INSTANTIATE_TEST_SUITE_P(Concurrency, FromFour, ::testing::Values(4, 8, 16, 32), in_name);
INSTANTIATE_TEST_SUITE_P(Concurrency, FromEight, ::testing::Values(8, 16, 32), in_name);

// Hogs of 0 to 10 s requests; the light users were there before them.
Clients slow_hogs(std::uint32_t hogs) {
  Clients clients = hog(hogs < 10 ? 100 : 280 / hogs, 0, 10'000);
  clients.networks = hogs;
  clients.begin = range(8'000, 8'100);
  clients.pause = range(200, 1'000);
  return clients;
}

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

Clients swarm(std::uint32_t connections) {
  Clients clients = hog(connections, 100, 100);
  clients.name = "swarm";
  clients.keys = Clients::Keys::per_network;
  clients.begin = range(8'000, 8'100);
  return clients;
}

TEST_P(FromTwo, X2ARegularVisitorDuringASwarm) {
  Settings settings = at_c();
  settings.length = 300 * s;
  Clients regular = light(3);
  regular.think = range(40'000, 40'000);
  Clients networks = swarm(8 * c());
  networks.begin = range(60'000, 60'100);
  const Report report = play(settings, {networks, regular}, 1);
  EXPECT_EQ(report["light"].failed(), 0U);
  EXPECT_GT(report["light"].served, 15U);
}

TEST_P(FromTwo, ReturningClientsDuringASwarm) {
  Clients newcomers = light(20);
  newcomers.name = "newcomers";
  newcomers.first_network = 500;
  newcomers.begin = range(12'000, 50'000);
  newcomers.requests = 3;
  const Report report = play(at_c(), {light(20), swarm(8 * c()), newcomers});
  EXPECT_EQ(report["light"].failed(), 0U);
  EXPECT_LE(report["light"].wait(0.99), 100 * ms);
  EXPECT_EQ(report["newcomers"].failed(), 0U);  // they share the swarm's fate, but the queue is not full
}

TEST_P(FromTwo, ASteadyNeighbourOfAClientWithEverNewKeys) {
  Clients minting = hog(100, 50, 50);
  minting.keys = Clients::Keys::per_request;
  Clients neighbour = light(1);
  neighbour.first_network = 1;
  neighbour.service = range(50, 50);
  const Report report = play(at_c(), {minting, neighbour}, 5);
  EXPECT_LE(report["light"].wait(0.99), 150 * ms);
  EXPECT_EQ(report["light"].failed(), 0U);
}

TEST_P(FromTwo, X3AnOfficeBesideAHogOfLongRequests) {
  Settings settings = at_c();
  settings.warm_up = 15 * s;
  Clients office = light(1);
  office.sessions = 40;
  const Report report = play(settings, {office, slow_hogs(1)});
  EXPECT_LE(report["light"].wait(0.99), alone(office) + 100 * ms);
  EXPECT_EQ(report["light"].failed(), 0U);
}

// X4: 500 first-time visitors within a second, who leave at the first refusal, beside one other client and beside a hog. (What they
// ask for is just what the eight slots can do in that second and the one after, the hog's part taken off.)
TEST(Scenario, X4AFlashCrowd) {
  Settings crowded = settings(8);
  crowded.warm_up = 0;
  crowded.length = 30 * s;
  Clients visitors = light(500);
  visitors.think = range(1, 10);
  visitors.requests = 5;
  visitors.begin = range(10'000, 11'000);
  visitors.give_up = true;
  for (const std::uint32_t connections : {1U, 600U}) {
    visitors.service = connections == 1 ? range(5, 5) : range(4, 4);
    const Report report = play(crowded, {visitors, hog(connections, 100, 100)});
    EXPECT_EQ(report["light"].failed(), 0U) << connections;
    EXPECT_EQ(report["light"].served, 3U * 500 * 5) << connections;
    Settings control = crowded;
    control.limits.order = queue::Order::fifo;
    EXPECT_GT(play(control, {visitors, hog(connections, 100, 100)})["light"].failed(), 0U) << connections;
  }
}

TEST_P(FromTwo, X5AKeyThatStartsCheaply) {
  Settings settings = at_c();
  settings.warm_up = 15 * s;
  Clients pretender = hog(1, 1'000, 1'000);
  pretender.sessions = 100;
  pretender.keys = Clients::Keys::per_pair;
  pretender.begin = range(10'000, 10'100);
  Clients neighbour = light(1);
  neighbour.first_network = 1;
  for (const std::uint32_t length : {1U, 3U, 10U}) {
    pretender.pair_length = length;
    const Report report = play(settings, {pretender, neighbour}, 5);
    EXPECT_LE(report["light"].wait(0.99), 300 * ms) << length;
    EXPECT_EQ(report["light"].failed(), 0U) << length;
  }
}

TEST_P(FromTwo, X6PagesOfManyPartsBesideAHogOfLongRequests) {
  Settings settings = at_c();
  settings.warm_up = 15 * s;
  Clients browser = light(1);
  browser.name = "browser";
  browser.connections = 6;
  browser.parts = 30;
  browser.think = range(2'000, 4'000);
  const Report report = play(settings, {browser, slow_hogs(1)});
  EXPECT_GE(report["browser"].pages.size(), 20U);
  EXPECT_LE(report["browser"].page(0.5), 800 * ms);
  EXPECT_LE(report["browser"].page(0.99), 2 * s);
}

// H12: who obeys Retry-After is served at the first retry, given that the cost of such requests is known.
TEST_P(FromFour, RefusedClientsThatObeyAreServedNext) {
  Clients burst = hog(600, 100, 100);
  burst.requests = 1;
  burst.obeys = true;
  burst.begin = range(10'000, 10'010);
  Clients known = light(1);
  known.service = range(100, 100);
  const Report report = play(at_c(), {known, burst});
  EXPECT_GE(report["hog"].first_retries, 3U * 300);
  EXPECT_EQ(report["hog"].first_retries_refused, 0U);
}

}  // namespace
}  // namespace fairway::sim::scenarios
