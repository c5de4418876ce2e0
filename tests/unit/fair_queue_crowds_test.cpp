// Scenarios with their bounds: swarms of new networks, minted keys, offices, flash crowds, browsers, clients that obey Retry-After.
#include <gtest/gtest.h>

#include "queue_scenarios.h"

namespace fairway::sim::scenarios {
namespace {

using CrowdFromTwo = Scenario;
using CrowdFromFour = Scenario;
const auto in_name = [](const auto& info) { return "c" + std::to_string(info.param); };
INSTANTIATE_TEST_SUITE_P(Concurrency, CrowdFromTwo, ::testing::Values(2, 4, 8, 16, 32), in_name);
INSTANTIATE_TEST_SUITE_P(Concurrency, CrowdFromFour, ::testing::Values(4, 8, 16, 32), in_name);

Clients swarm(std::uint32_t connections) {
  Clients clients = hog(connections, 100, 100);
  clients.name = "swarm";
  clients.keys = Clients::Keys::per_network;
  clients.begin = range(8'000, 8'100);
  return clients;
}

TEST_P(CrowdFromTwo, X2ARegularVisitorDuringASwarm) {
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

TEST_P(CrowdFromTwo, ReturningClientsDuringASwarm) {
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

TEST_P(CrowdFromTwo, ASteadyNeighbourOfAClientWithEverNewKeys) {
  Clients minting = hog(100, 50, 50);
  minting.keys = Clients::Keys::per_request;
  Clients neighbour = light(1);
  neighbour.first_network = 1;
  neighbour.service = range(50, 50);
  const Report report = play(at_c(), {minting, neighbour}, 5);
  EXPECT_LE(report["light"].wait(0.99), 150 * ms);
  EXPECT_EQ(report["light"].failed(), 0U);
}

TEST_P(CrowdFromTwo, X3AnOfficeBesideAHogOfLongRequests) {
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
TEST(Crowd, X4AFlashCrowd) {
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

TEST_P(CrowdFromTwo, X5AKeyThatStartsCheaply) {
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

TEST_P(CrowdFromTwo, X6PagesOfManyPartsBesideAHogOfLongRequests) {
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
TEST_P(CrowdFromFour, RefusedClientsThatObeyAreServedNext) {
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

// H13, a known limit: whoever keeps many cookies is as many sessions, and each of them is light. The neighbours behind the same
// address wait for a turn of all, not longer, and nobody is refused.
TEST(Crowd, ManyCookiesOfOneBrowser) {
  Clients cookies = hog(1, 100, 100);
  cookies.sessions = 100;
  cookies.begin = range(8'000, 8'100);
  Clients neighbour = light(1);
  neighbour.first_network = 1;
  Clients newcomer = neighbour;
  newcomer.name = "newcomer";
  newcomer.begin = range(30'000, 31'000);
  Settings settings8 = settings(8);
  settings8.warm_up = 15 * s;
  const Report report = play(settings8, {cookies, neighbour, newcomer});
  EXPECT_LE(report["light"].wait(0.99), 1'500 * ms);
  EXPECT_EQ(report["light"].failed(), 0U);
  EXPECT_GT(report["newcomer"].served, 0U);
  EXPECT_EQ(report["newcomer"].failed(), 0U);  // its first request pays what the cookies ran up while they were new
}

}  // namespace
}  // namespace fairway::sim::scenarios
