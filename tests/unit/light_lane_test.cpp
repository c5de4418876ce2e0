// Slots kept for light requests: who is light, what the others may hold, when the lane opens (H7, H8, H9 and their values).
#include "core/light_lane.h"

#include "queue_fixture.h"

namespace fairway::queue {
namespace {

class LightLane : public testing::QueueTest {
 protected:
  static Limits with_lane(std::uint32_t concurrency) {
    return {.concurrency = concurrency, .light_lane = default_lane(concurrency), .probation = true};
  }
  bool light(const FlowKeys& keys) {
    queue->tick(now);
    const std::uint32_t n = peek_network(tables(), keys);
    const std::uint32_t s = peek_session(tables(), keys.inner, n);
    const bool proven = n != kNone && tables().networks[n].proven;
    return is_light(tables(), {n, s, proven ? tables().network_flow(n) : kRootBucket});
  }
  // Lets a client of its own hold as many slots as it gets, with requests that have run over.
  std::vector<Handle> hog(std::uint32_t number, int requests) {
    std::vector<Handle> handles;
    for (int i = 0; i < requests; ++i) {
      const Decision d = ask(client(number));
      if (d.kind == Decision::Kind::direct) handles.push_back(d.handle);
    }
    return handles;
  }
};

TEST(LightLaneSize, IsAnEighthRoundedUpButNoneForOne) {
  const std::vector<std::uint32_t> expected{0, 1, 1, 1, 1, 1, 1, 1, 2};
  for (std::uint32_t c = 1; c <= 9; ++c) EXPECT_EQ(default_lane(c), expected[c - 1]) << c;
  EXPECT_EQ(default_lane(16), 2U);
  EXPECT_EQ(default_lane(32), 4U);
}

TEST_F(LightLane, OthersHoldAtMostTheRest) {
  make(with_lane(8));
  make_known(client(1), 400 * ms);
  make_known(client(2));
  EXPECT_EQ(hog(1, 20).size(), 7U);
  start(client(2));  // the light one gets the eighth
  EXPECT_EQ(queue->running(), 8U);
}

// One whose requests were short until now gets no more than a hog that is known as one.
TEST_F(LightLane, TheFirstRequestOfManyIsNotLight) {
  make(with_lane(8));
  make_known(client(1));
  make_known(client(2));
  EXPECT_EQ(hog(1, 20).size(), 7U);
  EXPECT_EQ(tables().heart().lane.others, 7U);
  start(client(2));  // the light one gets the eighth
}

TEST_F(LightLane, NothingIsKeptWithoutLaneOrInFifo) {
  Limits limits = with_lane(8);
  limits.light_lane = 0;
  make(limits);
  make_known(client(1), 400 * ms);
  make_known(client(2));
  EXPECT_EQ(hog(1, 20).size(), 8U);
  limits = with_lane(8);
  limits.order = Order::fifo;
  make(limits);
  make_known(client(1), 400 * ms);
  make_known(client(2));
  EXPECT_EQ(hog(1, 20).size(), 8U);
}

// A light request that runs over 250 ms counts as other, so that the others cannot take its place twice.
TEST_F(LightLane, ALightRequestThatRunsOverCountsAsOther) {
  make(with_lane(8));
  make_known(client(1), 400 * ms);
  make_known(client(2));
  make_known(client(3));
  std::vector<Handle> others = hog(1, 6);
  const Handle light_one = start(client(2));
  pass(251 * ms);
  queue->tick(now);
  EXPECT_EQ(tables().heart().lane.others, 7U);
  wait(client(1));  // the eighth slot is kept for light ones
  start(client(3));
  end(light_one);
  EXPECT_EQ(tables().heart().lane.others, 7U);  // the waiting one has taken over
  EXPECT_EQ(granted().size(), 1U);
}

// By the key's own maximum of 250 ms, half-life 30 s; what others or the location cost does not matter (H7).
TEST_F(LightLane, SizeIsTheKeysOwnMaximum) {
  make(with_lane(8));
  make_known(client(1), 250 * ms);
  make_known(client(2), 20 * ms);
  use(client(3), 8 * s);  // the same location
  pass(3 * s);            // lets everybody's use decay
  EXPECT_TRUE(light(client(1)));
  EXPECT_TRUE(light(client(2)));
  use(client(2), 500 * ms);
  pass(29 * s);
  EXPECT_FALSE(light(client(2)));
  pass(2 * s);
  EXPECT_TRUE(light(client(2)));
  use(client(2), 1 * s);
  pass(59 * s);
  EXPECT_FALSE(light(client(2)));
  pass(2 * s);
  EXPECT_TRUE(light(client(2)));
}

TEST_F(LightLane, WhatAKeyCostsIsLearnedWhileABucketPays) {
  make(with_lane(8));
  use(client(1), 5 * s);  // its first request, paid by the root bucket
  make_known(client(1, 1));
  pass(5 * s);
  EXPECT_FALSE(light(client(1)));
  EXPECT_EQ(session_record(client(1)).own.size, 5 * s);
}

// Use: at most half a slot, half-life 2 s.
TEST_F(LightLane, UseMustHaveBeenLowLately) {
  make(with_lane(8));
  make_known(client(1), 200 * ms, 100);  // 20 s without a pause: use is 1
  EXPECT_FALSE(light(client(1)));
  pass(1900 * ms);
  EXPECT_FALSE(light(client(1)));
  pass(200 * ms);
  EXPECT_TRUE(light(client(1)));
}

TEST_F(LightLane, AKeyWithSomethingRunningIsNotLight) {
  make(with_lane(8));
  make_known(client(1));
  const Handle running = start(client(1));
  EXPECT_FALSE(light(client(1)));
  end(running);
  EXPECT_TRUE(light(client(1)));
}

// The test is per session: an office is not one.
TEST_F(LightLane, SessionsOfANetworkAreLightEachForItself) {
  make(with_lane(8));
  for (std::uint32_t i = 0; i < 4; ++i) make_known(client(1, i));
  const Handle running = start(client(1, 0));
  EXPECT_FALSE(light(client(1, 0)));
  EXPECT_TRUE(light(client(1, 1)));
  end(running);
}

// H9: keys with under 3 finished requests count as one flow per network.
TEST_F(LightLane, YoungKeysOfANetworkCountAsOne) {
  make(with_lane(8));
  make_known(client(1, 0), 20 * ms, 3);
  make_known(client(1, 1), 20 * ms, 2);
  make_known(client(1, 2), 20 * ms, 2);
  pass(2 * s);
  const Handle young = start(client(1, 1));
  EXPECT_FALSE(light(client(1, 2)));
  EXPECT_FALSE(light(client(1, 9)));  // not seen yet
  EXPECT_TRUE(light(client(1, 0)));   // has finished three
  end(young);
  EXPECT_TRUE(light(client(1, 1)));  // now too
  EXPECT_TRUE(light(client(1, 2)));
}

// For a group the average counts, so that one slow request does not bar everybody (H7); many do.
TEST_F(LightLane, GroupsAreJudgedByTheirAverage) {
  make(with_lane(8));
  for (std::uint32_t i = 0; i < 8; ++i) use(client(i), 20 * ms);  // all unproven: one group
  use(client(8), 900 * ms);
  pass(3 * s);
  EXPECT_TRUE(light(client(100)));  // 20 + 880 / 4 = 240 ms
  use(client(9), 900 * ms);
  pass(3 * s);
  EXPECT_FALSE(light(client(100)));
}

TEST_F(LightLane, UnprovenNetworksCountAsOne) {
  make(with_lane(8));
  for (std::uint32_t i = 0; i < 8; ++i) use(client(i), 20 * ms);
  const Handle running = start(client(50));
  EXPECT_FALSE(light(client(51)));
  end(running);
  pass(1 * s);
  EXPECT_TRUE(light(client(51)));
}

// A network that is proven among slow unproven ones is not light on the strength of one quick request: the bucket's average
// stands in for what is not known of it yet.
TEST_F(LightLane, AFreshNetworkIsTakenToBeLikeTheOthers) {
  make(with_lane(8));
  for (std::uint32_t i = 0; i < 8; ++i) use(client(i), 5 * s);
  pass(3 * s);
  use(client(20), 50 * ms);
  const Handle second = start(client(20));  // proven now
  pass(10 * ms);
  end(second);
  EXPECT_FALSE(light(client(20)));
  use(client(20), 10 * ms);
  EXPECT_TRUE(light(client(20)));  // three finished: by its own record
}

// H8: the lane opens to all when no light request arrived for 10 s.
TEST_F(LightLane, OpensTenSecondsAfterTheLastLightArrival) {
  make(with_lane(8));
  make_known(client(1), 400 * ms);
  make_known(client(3), 400 * ms);
  make_known(client(2));
  const Nanos last_light = now;
  use(client(2), 20 * ms);
  EXPECT_EQ(hog(1, 8).size(), 7U);
  EXPECT_EQ(hog(3, 8).size(), 0U);
  now = last_light + 9990 * ms;
  queue->tick(now);
  EXPECT_TRUE(granted().empty());
  now = last_light + 10 * s;
  queue->tick(now);
  EXPECT_EQ(granted().size(), 1U);
  EXPECT_EQ(queue->running(), 8U);
  EXPECT_EQ(kTickPeriod, 100 * ms);
}

// A lone client's own light request does not keep the lane from its others.
TEST_F(LightLane, IsOpenToAClientThatIsAlone) {
  make(with_lane(16));
  make_known(client(1));
  pass(20 * s);
  EXPECT_EQ(hog(1, 20).size(), 16U);  // the first of them was light
}

TEST_F(LightLane, IsShutToALoneClientWhileAnotherWasLightLately) {
  make(with_lane(16));
  make_known(client(1));
  make_known(client(2));
  pass(9 * s);
  EXPECT_EQ(hog(1, 20).size(), 14U);  // all but two
  pass(1100 * ms);
  queue->tick(now);
  EXPECT_EQ(granted().size(), 2U);
}

TEST_F(LightLane, ThereIsNoneForOneSlot) {
  make(with_lane(1));
  make_known(client(1), 5 * s);
  EXPECT_EQ(hog(1, 3).size(), 1U);
}

TEST_F(LightLane, TicksAreWantedWhileASlotIsFreeAndSomeoneWaits) {
  make(with_lane(2));
  make_known(client(1), 400 * ms);
  make_known(client(2));
  const Handle a = start(client(1));
  EXPECT_FALSE(queue->needs_tick());
  wait(client(1));
  EXPECT_TRUE(queue->needs_tick());
  end(a);
  EXPECT_FALSE(queue->needs_tick());
}

}  // namespace
}  // namespace fairway::queue
