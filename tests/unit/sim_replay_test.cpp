// A replay of few requests, whose waits can be written down.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sim/queue_replay.h"
#include "sim/random.h"

namespace fairway::sim {
namespace {

constexpr Nanos ms = queue::kMillisecond;
constexpr Nanos s = queue::kSecond;

struct Fate3 {
  bool ran = false;
  Nanos waited = 0;
};
using Fates = std::map<std::uint64_t, Fate3>;

ClientKey client(std::uint8_t network, std::uint64_t session = 1) {
  const std::array<std::uint8_t, 4> bytes{10, 0, network, 0};
  return {outer_key(ClientAddress::v4(bytes), 24, 56), session};
}

queue::Limits one_slot() {
  queue::Limits limits;
  limits.concurrency = 1;
  limits.probation = false;  // a short history of strangers
  return limits;
}

struct Played {
  Fates fifo, fair;
  ReplayReport report;
};

Played play(const queue::Limits& limits, const std::vector<PastRequest>& requests) {
  Played played;
  QueueReplay replay(limits, {}, [&played](queue::Order order, std::uint64_t request, bool ran, Nanos waited) {
    (order == queue::Order::fifo ? played.fifo : played.fair)[request] = {ran, waited};
  });
  for (const PastRequest& request : requests) replay.add(request);
  played.report = replay.finish(10);
  return played;
}

void expect_waits(const Fates& fates, const std::vector<Nanos>& waits) {
  ASSERT_EQ(fates.size(), waits.size());
  for (const auto& [request, fate] : fates) {
    EXPECT_TRUE(fate.ran) << request;
    EXPECT_EQ(fate.waited, waits[request]) << request;
  }
}

// Four requests of 1 s of one client, and one of 100 ms of another, all within 40 ms, at one slot.
TEST(QueueReplay, TheLightClientWaitsForAllOrForOne) {
  const std::vector<PastRequest> requests{
      {0, s, client(1)}, {10 * ms, s, client(1)}, {20 * ms, s, client(1)}, {30 * ms, s, client(1)}, {40 * ms, 100 * ms, client(2)}};
  const Played played = play(one_slot(), requests);
  expect_waits(played.fifo, {0, 990 * ms, 1980 * ms, 2970 * ms, 3960 * ms});
  expect_waits(played.fair, {0, 1090 * ms, 2080 * ms, 3070 * ms, 960 * ms});
  const ReplayReport& report = played.report;
  EXPECT_EQ(report.requests, 5u);
  EXPECT_DOUBLE_EQ(report.service, 4.1);
  EXPECT_EQ(report.heavy_clients, 1u);
  EXPECT_DOUBLE_EQ(report.heavy_service, 4);
  EXPECT_EQ(report.fifo.light.waits.longest(), 3'960'000);
  EXPECT_EQ(report.fair.light.waits.longest(), 960'000);
  EXPECT_EQ(report.fair.heavy.waits.count(), 4u);
  ASSERT_EQ(report.sessions.size(), 2u);
  EXPECT_EQ(report.sessions[0].key, client(1));
  EXPECT_EQ(report.sessions[0].requests, 4u);
  EXPECT_EQ(report.fifo.most_running, 1u);
  EXPECT_EQ(report.fifo.most_waiting, 4u);
}

TEST(QueueReplay, WithSlotsEnoughNobodyWaits) {
  queue::Limits limits = one_slot();
  limits.concurrency = 8;
  std::vector<PastRequest> requests;
  for (int i = 0; i < 1000; ++i) requests.push_back({i * 10 * ms, 70 * ms, client(static_cast<std::uint8_t>(i % 5))});
  const Played played = play(limits, requests);
  EXPECT_EQ(played.report.fifo.waits.longest(), 0);
  EXPECT_EQ(played.report.fair.waits.longest(), 0);
  EXPECT_EQ(played.report.fifo.most_running, 7u);
}

TEST(QueueReplay, WhoIsRefused) {
  queue::Limits limits = one_slot();
  limits.size = 2;
  const std::vector<PastRequest> requests{
      {0, 5 * s, client(1)}, {1 * ms, s, client(1)}, {2 * ms, s, client(1)}, {3 * ms, s, client(2)}, {4 * ms, s, client(1)}};
  const Played played = play(limits, requests);
  EXPECT_EQ(played.report.fifo.full, 2u) << "whoever comes when the queue is full";
  EXPECT_FALSE(played.fifo.at(3).ran);
  EXPECT_FALSE(played.fifo.at(4).ran);
  EXPECT_EQ(played.report.fair.evicted, 1u) << "the newest of the longest makes room for the other client";
  EXPECT_EQ(played.report.fair.full, 1u);
  EXPECT_TRUE(played.fair.at(3).ran);
  EXPECT_FALSE(played.fair.at(2).ran);
}

TEST(QueueReplay, TimeoutsAreAtTheLimit) {
  queue::Limits limits = one_slot();
  limits.timeout = 2 * s;
  const Played played = play(limits, {{0, 5 * s, client(1)}, {s, s, client(2)}, {4 * s, s, client(2)}});
  for (const Fates* fates : {&played.fifo, &played.fair}) {
    EXPECT_FALSE(fates->at(1).ran);
    EXPECT_EQ(fates->at(1).waited, 2 * s);
    EXPECT_EQ(fates->at(2).waited, s);
  }
  EXPECT_EQ(played.report.fifo.timed_out, 1u);
  EXPECT_EQ(played.report.fair.timed_out, 1u);
}

TEST(QueueReplay, EachRequestEndsOnceInBothOrders) {
  queue::Limits limits;
  limits.concurrency = 4;
  limits.light_lane = 1;
  limits.size = 20;
  limits.timeout = 3 * s;
  Random random(7);
  std::vector<PastRequest> requests;
  Nanos now = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += static_cast<Nanos>(random.exponential(20e6));
    requests.push_back(
        {now, static_cast<Nanos>(random.pareto(90e6, 1.5)), client(static_cast<std::uint8_t>(random.bits() % 40), random.bits() % 3)});
  }
  const Played played = play(limits, requests);
  for (const OrderReport* order : {&played.report.fifo, &played.report.fair}) {
    EXPECT_EQ(order->waits.count() + order->refused(), 20'000u);
    EXPECT_EQ(order->light.waits.count() + order->heavy.waits.count(), order->waits.count());
    EXPECT_EQ(order->light.refused + order->heavy.refused, order->refused());
    EXPECT_LE(order->most_running, 4u);
    EXPECT_LE(order->most_waiting, 20u);
    EXPECT_LE(order->waits.longest(), 3'000'000);
    EXPECT_GT(order->refused(), 0u);
  }
  EXPECT_EQ(played.fifo.size(), 20'000u);
  EXPECT_EQ(played.fair.size(), 20'000u);
}

TEST(QueueReplay, WhatComesLateStartsNow) {
  const Played played = play(one_slot(), {{10 * s, s, client(1)}, {5 * s, s, client(2)}});
  EXPECT_EQ(played.report.disordered, 1u);
  expect_waits(played.fifo, {0, s});
}

}  // namespace
}  // namespace fairway::sim
