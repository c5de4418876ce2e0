// Bounded work and bounded memory: whatever piled up, no call is long, and a full block spoils nothing.
#include <gtest/gtest.h>

#include "room_visit.h"

namespace fairway::room::test {
namespace {

TEST(RoomBounds, ACallDropsAtMostAStepOfDeadWaitersAndSaysThatWorkIsLeft) {
  Room room(settings_of(0), 8 << 20);
  arrive(room, 1, 10'000);
  room.now += 20 * kMinute;
  room.tick();
  EXPECT_EQ(room.summary.abandoned_total, kWorkPerStep);
  EXPECT_TRUE(room.summary.more_work);
  const int calls = room.settle();
  EXPECT_EQ(room.summary.abandoned_total, 10'000U);
  EXPECT_EQ(calls, 10'000 / static_cast<int>(kWorkPerStep) - 1);
}

TEST(RoomBounds, DeadHeadsArePassedOverInSteps) {
  Room room(settings_of(1), 8 << 20);
  auto crowd = arrive(room, 1, 5000);
  room.now = kStart + 65'500'000;  // all overdue, none abandoned: the first were told 3 s, the last 30 s
  room.poll(crowd.back());
  room.release(crowd[0]);
  EXPECT_TRUE(room.summary.more_work);
  EXPECT_LE(room.settle(), 5000 / static_cast<int>(kWorkPerStep) + 1);
  EXPECT_EQ(room.poll(crowd.back()).state, State::admitted);
}

TEST(RoomBounds, ExpiredSlotsAreFreedInSteps) {
  Room room(settings_of(1000));
  arrive(room, 1, 1000);
  room.now += 20 * kMinute;
  room.tick();
  EXPECT_EQ(room.summary.inside, 1000 - kWorkPerStep);
  room.settle();
  EXPECT_EQ(room.summary.inside, 0U);
}

TEST(RoomBounds, ARecordTakesTwoCacheLines) {
  Room room(settings_of(0));
  arrive(room, 1, 100);  // more than the first hash table is for
  const std::size_t before = room.arena().free_bytes();
  arrive(room, 200, 100);
  EXPECT_EQ(before - room.arena().free_bytes(), 100 * Arena::kRecord);
}

TEST(RoomBounds, AFullBlockAnswersNoMemoryAndSpoilsNothing) {
  Settings settings = settings_of(2);
  settings.max_waiting = 1'000'000;
  Room room(settings, 64 * 1024);
  std::vector<Visitor> crowd;
  Answer answer;
  for (std::uint64_t i = 1; answer.state != State::no_memory; ++i) {
    ASSERT_LT(i, 10'000U);
    crowd.push_back(room.visitor(i));
    const std::uint64_t last = room.summary.last_number;
    answer = room.enter(crowd.back());
    if (answer.state == State::no_memory) {
      EXPECT_EQ(room.summary.last_number, last) << "nothing was drawn";
    }
    ASSERT_EQ(room.state().inconsistency(), nullptr);
  }
  EXPECT_GT(crowd.size(), 100U);
  crowd.pop_back();
  // All others go on: poll, heartbeat, promotion, release. What was released is remembered, in the same memory.
  EXPECT_EQ(room.poll(crowd.back()).state, State::waiting);
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::admitted);
  EXPECT_EQ(room.release(crowd[0]).state, State::released);
  EXPECT_EQ(room.enter(crowd[2]).state, State::admitted);
  EXPECT_EQ(room.enter(crowd[0]).state, State::gone);
  Visitor more = room.visitor(999'999);
  EXPECT_EQ(room.enter(more).state, State::no_memory);
  EXPECT_EQ(room.state().inconsistency(), nullptr);
  // When marks are forgotten there is room again.
  room.now += 40 * kMinute;
  room.settle();
  room.now += 40 * kMinute;
  room.settle();
  EXPECT_EQ(room.enter(more).state, State::admitted);
}

TEST(RoomBounds, NoMemoryForOneOperationOfACallLeavesTheOthersTrue) {
  Room room(settings_of(1), 64 * 1024);
  Visitor inside = room.visitor(1);
  room.enter(inside);
  while (room.arena().take_record() != nullptr) continue;
  Visitor stranger = room.visitor(2);
  Visitor returning = room.visitor(3);
  returning.epoch = room.summary.epoch;
  returning.number = room.summary.last_number;
  const auto answers = room.batch({room.operation(Kind::enter, stranger), room.operation(Kind::poll, returning),
                                   room.operation(Kind::heartbeat, inside), room.operation(Kind::release, returning)});
  EXPECT_EQ(answers[0].state, State::no_memory);
  EXPECT_EQ(answers[1].state, State::no_memory);
  EXPECT_EQ(answers[2].state, State::admitted);
  EXPECT_EQ(answers[3].state, State::no_memory);
  EXPECT_EQ(room.state().inconsistency(), nullptr);
}

TEST(RoomBounds, ChurnOfSessionsDoesNotEatMemory) {  // mixed-size churn for hours: capacity constant
  Settings settings = settings_of(10);
  settings.rate = 500;
  settings.rate_window = kSecond;
  Room room(settings);
  std::size_t free_before = 0;
  for (std::uint64_t hour = 0; hour < 4; ++hour) {
    auto crowd = arrive(room, 1 + hour * 1000, 700);
    for (auto& v : crowd) room.release(v);
    room.now += 60 * kMinute;
    room.settle();
    for (int i = 0; i < 10; ++i) room.tick();
    if (hour == 0) free_before = room.arena().free_bytes();
    EXPECT_EQ(room.arena().free_bytes(), free_before);
  }
}

TEST(RoomBounds, WithoutMemoryForTheRingTheRateErrsOnTheStrictSide) {
  Settings settings = settings_of(1'000'000);
  settings.rate = 100'000;
  settings.rate_window = kMinute;
  Room room(settings, 256 * 1024);
  while (room.arena().take_table(64) != nullptr) continue;
  Visitor v = room.visitor(1);
  const Answer answer = room.enter(v);
  EXPECT_TRUE(answer.state == State::waiting || answer.state == State::no_memory);
  EXPECT_EQ(room.summary.admitted_total, 0U);
}

TEST(RateRing, GrowsWithItsLimitAndForgetsNothingThatMatters) {
  Block block(1 << 20);
  Arena& arena = *Arena::create(block.data(), block.size());
  RateRing ring(arena);
  std::uint32_t limit = 10;
  std::vector<Micros> times;
  for (Micros now = kStart; now < kStart + 20 * kSecond; now += 500) {
    if (now == kStart + 5 * kSecond) limit = 1000;
    if (now == kStart + 12 * kSecond) limit = 100;
    if (!ring.allows(limit, kSecond, now)) continue;
    ring.note(limit, kSecond, now);
    times.push_back(now);
    if (times.size() > limit) {
      EXPECT_GE(now - times[times.size() - 1 - limit], kSecond);
    }
  }
  EXPECT_GT(times.size(), 7U * 999);
}

TEST(RateRing, AWindowEndsToTheMicrosecond) {
  Block block(64 * 1024);
  RateRing ring(*Arena::create(block.data(), block.size()));
  ASSERT_TRUE(ring.allows(1, kSecond, kStart));
  ring.note(1, kSecond, kStart);
  EXPECT_FALSE(ring.allows(1, kSecond, kStart + kSecond - 1));
  EXPECT_TRUE(ring.allows(1, kSecond, kStart + kSecond));
}

TEST(Arena, RecordsLeaveAPartForTables) {
  Block block(1 << 20);
  Arena& arena = *Arena::create(block.data(), block.size());
  while (arena.take_record() != nullptr) continue;
  EXPECT_NE(arena.take_table(block.size() / 20), nullptr);
}

TEST(RoomBounds, DissolvingGivesEverythingBack) {
  Room room(settings_of(5), 4 << 20);
  const std::size_t free_before = room.arena().free_bytes();
  arrive(room, 1, 2500);
  int calls = 1;
  while (!room.state().dissolve()) ++calls;
  EXPECT_EQ(calls, 3);
  constexpr std::size_t kKept = 32 * 1024;  // the hash table goes with the room; each chunk of records has a few bytes of the heap's own
  EXPECT_GE(room.arena().free_bytes() + kKept, free_before);
}

TEST(RoomBounds, TheHashTableGrowsWithTheRoom) {
  Settings settings = settings_of(0);
  settings.max_waiting = 1'000'000;
  Room room(settings, 64 << 20);
  const std::size_t free_before = room.arena().free_bytes();
  std::size_t buckets = room.state().table().bucket_count();
  EXPECT_LT(buckets, 100U);
  std::vector<std::size_t> moved;  // records, each time it grew
  for (std::uint64_t i = 1; i <= 30'000; ++i) {
    arrive(room, i, 1);
    if (room.state().table().bucket_count() != buckets) {
      buckets = room.state().table().bucket_count();
      moved.push_back(i);
    }
    if (i == 1'000) {
      EXPECT_LT(free_before - room.arena().free_bytes(), 1'000U * 200);
    }
  }
  EXPECT_GT(moved.size(), 2U);
  EXPECT_LE(moved.back(), 16'384U) << "a large table is not moved any more";
  EXPECT_GE(buckets, (64U << 20) / 16 / 8 / 2) << "but is as large as it may be by then";
  EXPECT_EQ(room.state().inconsistency(), nullptr);
}

}  // namespace
}  // namespace fairway::room::test
