// Operators put sessions out, and gateways learn of it.
#include <gtest/gtest.h>

#include <array>

#include "room_visit.h"

namespace fairway::room::test {
namespace {

constexpr Network kHome{{192, 0, 2}, 3};
constexpr Network kElsewhere{{198, 51, 100}, 3};

std::uint64_t cut(Room& room, const Cut& what, int* steps = nullptr) {
  CutStatus status = room.state().cut(room.now, room.settings, room.memory, what, room.summary);
  const std::uint64_t id = status.id;
  EXPECT_NE(id, 0U);
  int n = 1;
  for (; !status.done && n < 100'000; ++n) status = room.state().go_on(room.now, room.settings, room.memory, id, room.summary);
  if (steps != nullptr) *steps = n;
  room.memory.version = room.summary.version;
  return status.ended;
}

TEST(RoomCut, EvictEndsOneSessionInside) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  EXPECT_EQ(room.evict(crowd[1]).state, State::unknown) << "a place in line is not a session inside";
  EXPECT_EQ(room.evict(crowd[0]).state, State::released);
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::gone);
  EXPECT_EQ(room.enter(crowd[1]).state, State::admitted);
}

TEST(RoomCut, EverybodyLeavesNoPlaceReserved) {
  Room room(settings_of(3));
  auto crowd = arrive(room, 1, 4);
  room.lose();
  room.poll(crowd[3]);
  room.now += recovery_window(room.settings);
  EXPECT_EQ(room.poll(crowd[3]).state, State::waiting);
  ASSERT_EQ(room.summary.reserved, 3U);
  EXPECT_EQ(cut(room, Cut{}), 0U);
  EXPECT_EQ(room.summary.reserved, 0U);
  EXPECT_EQ(room.poll(crowd[3]).state, State::admitted);
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::gone) << "the place of the evicted is somebody else's";
}

TEST(RoomCut, EverybodyInsideLeavesAndTheLineMovesUp) {
  Room room(settings_of(3));
  auto crowd = arrive(room, 1, 5);
  EXPECT_EQ(cut(room, Cut{}), 3U);
  EXPECT_EQ(room.summary.granted, 2U) << "the waiters are called";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(room.heartbeat(crowd[i]).state, State::gone);
  EXPECT_EQ(room.enter(crowd[3]).state, State::admitted);
  EXPECT_EQ(room.heartbeat(crowd[3]).state, State::admitted) << "admitted after the cut";
}

TEST(RoomCut, WithTheLineEverybodyStartsAnew) {
  Room room(settings_of(3));
  auto crowd = arrive(room, 1, 5);
  EXPECT_EQ(cut(room, Cut{.line = true}), 5U);
  EXPECT_EQ(room.summary.inside + room.summary.waiting, 0U);
  EXPECT_EQ(room.enter(crowd[4]).state, State::gone);
  Visitor newcomer = room.visitor(99);
  EXPECT_EQ(room.enter(newcomer).state, State::admitted);
}

TEST(RoomCut, ANetworkOnly) {
  Room room(settings_of(2));
  std::vector<Visitor> crowd;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    crowd.push_back(room.visitor(i));
    crowd.back().network = i % 2 == 0 ? kHome : kElsewhere;
    room.enter(crowd.back());
  }
  EXPECT_EQ(cut(room, Cut{.network = kHome, .line = true}), 2U);
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::admitted);
  EXPECT_EQ(room.heartbeat(crowd[1]).state, State::gone);
  EXPECT_EQ(room.enter(crowd[2]).state, State::admitted);
  EXPECT_EQ(room.enter(crowd[3]).state, State::gone);
}

TEST(RoomCut, GoesOnInBoundedStepsButActsAtOnceOnCallers) {
  Settings settings = settings_of(1000);
  Room room(settings, 4 << 20);
  auto crowd = arrive(room, 1, 3000);
  CutStatus status = room.state().cut(room.now, room.settings, room.memory, Cut{.line = true}, room.summary);
  EXPECT_FALSE(status.done);
  EXPECT_LE(status.ended, kWorkPerStep);
  EXPECT_TRUE(room.summary.more_work);
  EXPECT_EQ(room.heartbeat(crowd[999]).state, State::gone);
  EXPECT_EQ(room.poll(crowd[2999]).state, State::gone);
  EXPECT_LE(room.settle(), 20);
  EXPECT_EQ(room.summary.inside + room.summary.waiting, 0U);
}

TEST(RoomCut, NobodyEscapesByBeingPromotedMeanwhile) {
  Settings settings = settings_of(1000);
  Room room(settings, 4 << 20);
  auto crowd = arrive(room, 1, 3000);
  room.state().cut(room.now, room.settings, room.memory, Cut{.line = true}, room.summary);
  for (std::size_t i = 0; i < 900; ++i) room.release(crowd[i]);
  room.settle();
  EXPECT_EQ(room.summary.inside + room.summary.waiting, 0U);
  EXPECT_EQ(room.state().inconsistency(), nullptr);
}

TEST(RoomCut, PassesAndTicketsUnknownToTheStoreAreCutToo) {
  Room room(settings_of(2));
  auto crowd = arrive(room, 1, 4);
  room.lose();
  room.now += kMinute;
  cut(room, Cut{.line = true});
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::gone);
  EXPECT_EQ(room.enter(crowd[3]).state, State::gone);
}

TEST(RoomCut, ACutOfThoseInsideSparesTickets) {
  Room room(settings_of(2));
  auto crowd = arrive(room, 1, 4);
  room.lose();
  room.now += kMinute;
  cut(room, Cut{});
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::gone);
  EXPECT_EQ(room.poll(crowd[3]).state, State::waiting);
}

TEST(RoomCut, TheSweepPassesOverThoseItDoesNotHit) {
  Room room(settings_of(0), 4 << 20);
  arrive(room, 1, 1500);
  Visitor last = room.visitor(9999);
  last.network = kHome;
  room.enter(last);
  int steps = 0;
  EXPECT_EQ(cut(room, Cut{.network = kHome, .line = true}, &steps), 1U);
  EXPECT_LE(steps, 1501 / static_cast<int>(kWorkPerStep) + 2);
  EXPECT_EQ(room.summary.waiting, 1500U);
}

TEST(RoomCut, StatsTellWhatWasEndedInOrderAndInPortions) {
  Room room(settings_of(5));
  auto crowd = arrive(room, 1, 5);
  const std::uint64_t since = room.summary.version;
  for (auto& v : crowd) room.release(v);
  std::array<Ended, 2> ended;
  std::array<CutNotice, 16> cuts;
  Changes changes{.ended = ended, .cuts = cuts};
  std::vector<Sid> heard;
  std::uint64_t known = since;
  do {
    room.state().stats(room.now, room.settings, room.memory, known, changes);
    for (std::size_t i = 0; i < changes.ended_count; ++i) {
      heard.push_back(ended[i].sid);
      known = ended[i].version;
    }
  } while (changes.more);
  ASSERT_EQ(heard.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(heard[i], crowd[i].sid);
  EXPECT_EQ(changes.cut_count, 0U);
}

TEST(RoomCut, StatsTellOfCuts) {
  Room room(settings_of(5));
  arrive(room, 1, 2);
  const std::uint64_t since = room.summary.version;
  cut(room, Cut{.network = kHome});
  std::array<Ended, 2> ended;
  std::array<CutNotice, 16> cuts;
  Changes changes{.ended = ended, .cuts = cuts};
  room.state().stats(room.now, room.settings, room.memory, since, changes);
  ASSERT_EQ(changes.cut_count, 1U);
  EXPECT_EQ(cuts[0].cut.network, kHome);
  EXPECT_EQ(cuts[0].at, room.now);
  room.state().stats(room.now, room.settings, room.memory, cuts[0].version, changes);
  EXPECT_EQ(changes.cut_count, 0U);
}

TEST(RoomCut, MoreCutsThanFitReplaceFinishedOnes) {
  Room room(settings_of(5));
  arrive(room, 1, 2);
  for (int i = 0; i < 40; ++i) cut(room, Cut{.network = kHome});
  EXPECT_EQ(room.state().inconsistency(), nullptr);
}

TEST(RoomCut, CutsAreForgottenWithTheirTokens) {
  Room room(settings_of(5));
  arrive(room, 1, 2);
  cut(room, Cut{});
  room.now += token_life(room.settings);
  std::array<Ended, 2> ended;
  std::array<CutNotice, 16> cuts;
  Changes changes{.ended = ended, .cuts = cuts};
  room.state().stats(room.now, room.settings, room.memory, 0, changes);
  EXPECT_EQ(changes.cut_count, 0U);
}

}  // namespace
}  // namespace fairway::room::test
