// A full queue: who makes room (H2, H10), who is refused, and when the refused may come again (H12).
#include "core/queue_full.h"

#include <set>

#include "queue_fixture.h"

namespace fairway::queue {
namespace {

using QueueFull = testing::QueueTest;
using Kind = Decision::Kind;

TEST_F(QueueFull, TheNewestOfTheLongestMakesRoom) {
  make({.concurrency = 1, .size = 6, .probation = false});
  start(client(9));
  std::vector<Handle> longest;
  for (int i = 0; i < 4; ++i) longest.push_back(wait(client(1)));
  wait(client(2));
  wait(client(2));
  wait(client(3));
  const std::vector<Mail> letters = mail();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].kind, Mail::Kind::evicted);
  EXPECT_EQ(letters[0].handle, longest[3]);
  EXPECT_GE(letters[0].retry_after, 1U);
  EXPECT_EQ(queue->total(Status::evicted), 1U);
  EXPECT_EQ(queue->waiting(), 6U);
  EXPECT_EQ(queue->cancel(longest[3], now), CancelResult::unknown);
}

TEST_F(QueueFull, TheLongestItselfIsRefused) {
  make({.concurrency = 1, .size = 4, .probation = false});
  start(client(9));
  for (int i = 0; i < 3; ++i) wait(client(1));
  wait(client(2));
  EXPECT_EQ(ask(client(1)).kind, Kind::full);
  EXPECT_EQ(queue->total(Status::evicted), 0U);
}

// Ties are for those who came first: with one request each, the arrival goes.
TEST_F(QueueFull, ATieRefusesTheArrival) {
  make({.concurrency = 1, .size = 3, .probation = false});
  start(client(9));
  for (std::uint32_t i = 0; i < 3; ++i) wait(client(i));
  EXPECT_EQ(ask(client(5)).kind, Kind::full);
  EXPECT_EQ(ask(client(1)).kind, Kind::full);
}

// H2: fullness is judged at both levels, so that a hog's neighbour in the same network is not refused in its place.
TEST_F(QueueFull, ANeighbourOfTheHogIsLetIn) {
  make({.concurrency = 1, .size = 4, .probation = false});
  start(client(9));
  std::vector<Handle> hog;
  for (int i = 0; i < 4; ++i) hog.push_back(wait(client(1)));
  wait(client(1, 1));
  const std::vector<Mail> letters = mail();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].handle, hog[3]);
}

TEST_F(QueueFull, ANeighbourIsLetInWhenTheNetworksTie) {
  make({.concurrency = 1, .size = 7, .probation = false});
  start(client(9));
  for (int i = 0; i < 3; ++i) wait(client(1));
  for (int i = 0; i < 4; ++i) wait(client(2));
  wait(client(1, 1));  // four of either network: the hog of the other one is longer than this key
  ASSERT_EQ(mail().size(), 1U);
  EXPECT_EQ(info(client(2)).waiting, 3U);
}

TEST_F(QueueFull, AnAlwaysShortFlowOfALongNetworkIsRefusedLast) {
  make({.concurrency = 1, .size = 8, .probation = false});
  start(client(9));
  for (std::uint32_t i = 0; i < 6; ++i) wait(client(1, i));  // an office of six
  wait(client(2));
  wait(client(2));
  EXPECT_EQ(ask(client(1, 7)).kind, Kind::full);  // ties with each of its own network
  wait(client(3));                                // the office is the longest network
  EXPECT_EQ(info(client(1)).waiting, 5U);
}

// H10: longest is most waiting requests ÷ weight, not most work: honest slow requests do not go first.
TEST_F(QueueFull, SlowRequestsAreNotLongerThanQuickOnes) {
  make({.concurrency = 2, .size = 5, .probation = false});
  use(client(1), 5 * s, 7);
  use(client(2), 10 * ms, 8);
  start(client(9));
  start(client(9));
  wait(client(1), 7);
  wait(client(1), 7);
  std::vector<Handle> quick;
  for (int i = 0; i < 3; ++i) quick.push_back(wait(client(2), 8));
  wait(client(3));
  const std::vector<Mail> letters = mail();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].handle, quick[2]);
}

// A bucket of many newcomers is not taken for one hog: it weighs more.
TEST_F(QueueFull, WeightsCountInLength) {
  make({.concurrency = 1, .size = 14});
  make_known(client(1));
  start(client(1));
  for (std::uint32_t i = 0; i < 9; ++i) wait(client(100 + i));  // weight 3: length 3
  std::vector<Handle> known;
  for (int i = 0; i < 5; ++i) known.push_back(wait(client(1)));
  wait(client(120));
  const std::vector<Mail> letters = mail();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].handle, known[4]);
}

TEST_F(QueueFull, AnArrivalThatCanStartEvictsNobody) {
  Limits limits{.concurrency = 8, .size = 3, .light_lane = 1, .probation = true};
  make(limits);
  make_known(client(1), 400 * ms);
  make_known(client(2));
  for (int i = 0; i < 7; ++i) start(client(1));
  for (int i = 0; i < 3; ++i) wait(client(1));
  start(client(2));
  EXPECT_TRUE(mail().empty());
}

TEST_F(QueueFull, RefusedAndEvictedRequestsLeaveNoRecord) {
  make({.concurrency = 1, .size = 2});
  start(client(9));
  wait(client(1));
  wait(client(2));
  EXPECT_EQ(ask(client(3)).kind, Kind::full);
  EXPECT_FALSE(queue->find(client(3), false).has_value());
  EXPECT_FALSE(queue->find(client(3), true).has_value());
  ASSERT_TRUE(queue->set_limits({.concurrency = 1, .size = 3}, now));
  wait(client(2, 1));
  wait(client(4));  // pushes out the newest of network 2
  EXPECT_EQ(mail().size(), 1U);
  EXPECT_FALSE(queue->find(client(2, 1), true).has_value());
  EXPECT_TRUE(queue->find(client(2), true).has_value());
}

TEST_F(QueueFull, RetryAfterIsOneOrTwoSecondsWithoutDebt) {
  make({.concurrency = 8, .size = 0, .probation = false});
  for (int i = 0; i < 8; ++i) start(client(1));
  std::set<std::uint32_t> told;
  for (std::uint32_t i = 0; i < 60; ++i) told.insert(ask(client(10 + i)).retry_after);
  EXPECT_EQ(told, (std::set<std::uint32_t>{1, 2}));
}

// H12: each refusal books the next free moment of its flow, the next one is told a later one.
TEST_F(QueueFull, RefusalsBookOneMomentAfterTheOther) {
  make({.concurrency = 2, .size = 4, .probation = false});
  for (int i = 0; i < 4; ++i) use(client(1), 1 * s);
  start(client(1));
  start(client(1));
  for (int i = 0; i < 4; ++i) wait(client(1));
  std::vector<Nanos> booked;
  std::uint32_t last = 0;
  for (int i = 0; i < 20; ++i) {
    last = ask(client(1)).retry_after;
    booked.push_back(network_record(client(1)).booked);
  }
  for (std::size_t i = 1; i < booked.size(); ++i) EXPECT_EQ(booked[i] - booked[i - 1], 500 * ms);  // 1 s each, two slots
  EXPECT_GE(booked[0] - now, 2500 * ms);
  EXPECT_GE(last, 12U);
  EXPECT_LE(last, 20U);  // up to half more at random
}

TEST_F(QueueFull, RetryAfterHasBounds) {
  make({.concurrency = 1, .size = 4, .probation = false});
  for (int i = 0; i < 4; ++i) use(client(1), 1 * s);
  start(client(1));
  for (int i = 0; i < 4; ++i) wait(client(1));
  std::uint32_t most = 0;
  for (int i = 0; i < 500; ++i) {
    const std::uint32_t told = ask(client(1)).retry_after;
    EXPECT_GE(told, 1U);
    most = std::max(most, told);
  }
  EXPECT_GE(most, 40U);
  EXPECT_LE(most, 45U);
}

// When mail is not read there is no record left at last: the arrival is refused, nobody is evicted.
TEST_F(QueueFull, UnreadEvictionsAreBounded) {
  make({.concurrency = 1, .size = 2, .probation = false}, {.outer_flows = 512, .inner_flows = 512, .concurrency = 1, .size = 2});
  start(client(0));
  wait(client(1));
  std::uint32_t n = 2;
  int full = 0;
  for (int i = 0; i < 400; ++i) {  // two of one client, then another pushes the second out
    full += ask(client(n)).kind == Kind::full;
    full += ask(client(++n)).kind == Kind::full;
  }
  EXPECT_GT(full, 0);
  EXPECT_EQ(queue->waiting(), 2U);
  mail();
  EXPECT_EQ(queue->total(Status::full) + queue->total(Status::evicted) + queue->waiting() + queue->running(), 802U);
}

}  // namespace
}  // namespace fairway::queue
