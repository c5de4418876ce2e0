// Lost and rolled-back state: the line and those inside come back from what visitors and gateways remember.
#include <gtest/gtest.h>

#include "room_visit.h"

namespace fairway::room::test {
namespace {

Micros window(const Room& room) {
  return recovery_window(room.settings);
}

TEST(RoomRecovery, AFirstStartHoldsNobody) {
  Room room(settings_of(1));
  Visitor v = room.visitor(1);
  EXPECT_EQ(room.enter(v).state, State::admitted);
  EXPECT_FALSE(room.summary.recovering);
}

TEST(RoomRecovery, AQuietGatewayRestartsWithoutHoldingAnyone) {
  Room room(settings_of(2));
  Visitor v = room.visitor(1);
  room.enter(v);
  room.release(v);
  const std::uint64_t epoch = room.memory.epoch;
  room.lose();
  room.now += 10 * kSecond;
  Visitor w = room.visitor(2);
  EXPECT_EQ(room.enter(w).state, State::admitted);
  EXPECT_GT(w.epoch, epoch);
}

TEST(RoomRecovery, TheEpochAndItsNumbersAreAboveEverythingTold) {
  Room room(settings_of(0));
  auto crowd = arrive(room, 1, 3);
  const std::uint64_t last = crowd.back().number;
  room.lose();
  room.now -= 3600 * kSecond;  // the lost state also forgot how far its clock had been
  Visitor newcomer = room.visitor(9);
  room.enter(newcomer);
  EXPECT_GT(room.summary.epoch, last);
  EXPECT_GT(newcomer.number, room.summary.epoch);
}

TEST(RoomRecovery, WaitersReturnToTheirOldOrderWhoeverComesFirst) {  // case 41
  Room room(settings_of(0));
  auto crowd = arrive(room, 1, 50);
  room.lose();
  room.now += kMinute;
  for (std::size_t i = crowd.size(); i-- > 0;) {
    const Answer answer = i % 2 == 0 ? room.poll(crowd[i]) : room.enter(crowd[i]);
    EXPECT_EQ(answer.state, State::waiting);
    EXPECT_EQ(answer.rank, 0U) << "ranks are not told while recovering";
    EXPECT_FALSE(answer.created);
  }
  room.now += window(room);
  for (std::size_t i = 0; i < crowd.size(); ++i) EXPECT_EQ(room.poll(crowd[i]).rank, i + 1);
}

TEST(RoomRecovery, NobodyIsPromotedBeforeTheWindowIsOver) {
  Room room(settings_of(3));
  auto crowd = arrive(room, 1, 6);
  room.lose();
  room.settings.capacity = 10;  // room enough, also with three reserved
  const Micros start = room.now;
  EXPECT_EQ(room.poll(crowd[5]).state, State::waiting);
  room.now = start + window(room) - 1;
  EXPECT_EQ(room.poll(crowd[5]).state, State::waiting);
  EXPECT_TRUE(room.summary.recovering);
  room.now += 1;
  EXPECT_EQ(room.poll(crowd[5]).state, State::admitted);
  EXPECT_FALSE(room.summary.recovering);
}

TEST(RoomRecovery, TheWindowCoversTheRateWindow) {
  Settings settings = settings_of(3);
  settings.rate = 30;
  settings.rate_window = kMinute;
  EXPECT_EQ(recovery_window(settings), kMinute);
  settings.rate_window = kSecond;
  EXPECT_EQ(recovery_window(settings), settings.poll_max + 5 * kSecond);
}

TEST(RoomRecovery, RememberedInsidersAreReservedUntilTheyAreBack) {
  Room room(settings_of(3));
  auto crowd = arrive(room, 1, 4);
  room.lose();
  const Micros start = room.now;
  room.poll(crowd[3]);
  room.now += window(room);
  EXPECT_EQ(room.poll(crowd[3]).state, State::waiting) << "three slots are reserved";
  EXPECT_EQ(room.summary.reserved, 3U);
  EXPECT_EQ(room.summary.inside, 0U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(room.heartbeat(crowd[i]).state, State::admitted);
    EXPECT_EQ(room.summary.reserved, 2U - i);
  }
  EXPECT_EQ(room.summary.inside, 3U);
  room.release(crowd[0]);
  EXPECT_EQ(room.poll(crowd[3]).state, State::admitted);
  EXPECT_LT(room.now, start + room.settings.session_timeout);
}

TEST(RoomRecovery, TheReserveLapsesAfterSessionTimeout) {
  Room room(settings_of(3));
  auto crowd = arrive(room, 1, 4);
  room.lose();
  const Micros start = room.now;
  for (; room.now < start + room.settings.session_timeout; room.now += 5 * kSecond) {
    EXPECT_EQ(room.poll(crowd[3]).state, State::waiting);
    EXPECT_EQ(room.summary.reserved, 3U);
  }
  EXPECT_EQ(room.poll(crowd[3]).state, State::admitted);
  EXPECT_EQ(room.summary.reserved, 0U);
}

TEST(RoomRecovery, NewcomersEnterDirectlyOnlyWhenNobodyWasWaiting) {
  Room room(settings_of(3));
  auto crowd = arrive(room, 1, 4);
  for (std::size_t i = 0; i < 2; ++i) room.release(crowd[i]);
  ASSERT_EQ(room.summary.waiting, 0U);
  room.lose();
  Visitor first = room.visitor(50);
  EXPECT_EQ(room.enter(first).state, State::admitted) << "two were inside and none waited: one slot is free";
  Visitor second = room.visitor(51);
  EXPECT_EQ(room.enter(second).state, State::waiting);

  Room busy(settings_of(3));
  crowd = arrive(busy, 1, 5);
  busy.lose();
  busy.settings.capacity = 10;
  Visitor third = busy.visitor(50);
  EXPECT_EQ(busy.enter(third).state, State::waiting) << "somebody was waiting";
}

TEST(RoomRecovery, ASecondGatewaysMemoryCounts) {
  Room room(settings_of(5));
  auto crowd = arrive(room, 1, 3);
  Memory other = room.memory;
  other.waiting = 7;
  other.inside = 5;
  room.release(crowd[0]);
  room.release(crowd[1]);
  room.release(crowd[2]);
  room.lose();
  room.tick();  // this gateway remembers nobody
  room.memory = other;
  Visitor v = room.visitor(50);
  EXPECT_EQ(room.enter(v).state, State::waiting);
}

TEST(RoomRecovery, AnEpochOpenedWithoutMemoryRecoversWhenSomebodyRemembers) {
  Room room(settings_of(2));
  auto crowd = arrive(room, 1, 4);
  const Memory remembered = room.memory;
  room.lose();
  room.memory = Memory{};
  room.now += kSecond;
  EXPECT_FALSE(room.tick().recovering) << "a gateway without memory opened the epoch";
  const std::uint64_t epoch = room.summary.epoch;
  room.memory = remembered;
  EXPECT_TRUE(room.tick().recovering);
  EXPECT_EQ(room.summary.epoch, epoch) << "the later epoch is adopted";
}

TEST(RoomRecovery, AClaimOfAnEarlierEpochIsReasonEnoughButOnlyOnce) {
  Room room(settings_of(2));
  auto crowd = arrive(room, 1, 4);
  room.lose();
  room.memory = Memory{};
  room.now += kSecond;
  room.poll(crowd[3]);
  EXPECT_TRUE(room.summary.recovering);
  room.now += window(room);
  EXPECT_FALSE(room.tick().recovering);
  Visitor old = crowd[2];
  EXPECT_EQ(room.poll(old).state, State::admitted);
  EXPECT_FALSE(room.summary.recovering) << "each epoch recovers at most once";
}

TEST(RoomRecovery, ARolledBackStateIsNoticedByItsVersion) {
  Room room(settings_of(0));
  auto crowd = arrive(room, 1, 2);
  const std::uint64_t epoch = room.summary.epoch;
  room.memory.version += 10;  // the gateway saw writes that the store no longer has
  room.now += kSecond;
  room.tick();
  EXPECT_GT(room.summary.epoch, epoch);
  EXPECT_TRUE(room.summary.recovering);
  EXPECT_EQ(room.summary.waiting, 2U) << "what the state still holds is kept";
}

TEST(RoomRecovery, ARolledBackStateIsNoticedByANumberAboveItsLast) {
  Room room(settings_of(0));
  auto crowd = arrive(room, 1, 2);
  const std::uint64_t epoch = room.summary.epoch;
  Visitor later = room.visitor(9);
  later.epoch = epoch;
  later.number = room.summary.last_number + 1'000'000;
  room.now += 2 * kSecond;
  EXPECT_EQ(room.poll(later).state, State::waiting);
  EXPECT_GT(room.summary.epoch, epoch);
  EXPECT_TRUE(room.summary.recovering);
  Visitor newcomer = room.visitor(10);
  room.enter(newcomer);
  EXPECT_GT(newcomer.number, later.number);
}

TEST(RoomRecovery, ARolledBackStateCountsThoseItStillKnows) {
  Room room(settings_of(3));
  arrive(room, 1, 2);
  room.memory.version += 5;
  room.tick();
  Visitor newcomer = room.visitor(9);
  EXPECT_EQ(room.enter(newcomer).state, State::admitted) << "two of three slots are taken, by those remembered";
}

TEST(RoomRecovery, NumbersRiseAboveWhateverIsShown) {
  Room room(settings_of(0));
  Visitor shown = room.visitor(1);  // drawn by another master while the two did not know of each other
  shown.epoch = static_cast<std::uint64_t>(kStart - 5 * kSecond);
  shown.number = static_cast<std::uint64_t>(kStart + 10 * kSecond);
  Visitor first = room.visitor(2);
  room.enter(first);
  room.poll(shown);
  EXPECT_EQ(room.summary.epoch, static_cast<std::uint64_t>(kStart)) << "an earlier epoch is no reason for a new one";
  Visitor second = room.visitor(3);
  room.enter(second);
  EXPECT_GT(second.number, shown.number);
}

TEST(RoomRecovery, AnOlderEpochThanATokenShowsIsRolledBack) {
  Room room(settings_of(0));
  arrive(room, 1, 2);
  Visitor later = room.visitor(9);
  later.epoch = room.summary.epoch + 500 * kSecond;
  later.number = later.epoch + 3;
  room.poll(later);
  EXPECT_GT(room.summary.epoch, later.number);
}

TEST(RoomRecovery, NothingIsFreedOrDroppedWhileRecovering) {
  Room room(settings_of(2));
  auto crowd = arrive(room, 1, 4);
  room.memory.version += 5;
  room.now += room.settings.session_timeout + kMinute;
  room.tick();
  EXPECT_EQ(room.summary.inside, 2U);
  EXPECT_EQ(room.summary.waiting, 2U);
  room.now += window(room);
  room.tick();
  EXPECT_EQ(room.summary.inside, 0U);
  EXPECT_EQ(room.summary.waiting, 0U);
}

TEST(RoomRecovery, AfterAnOutageNobodyIsDroppedForNotHavingBeenSeen) {
  Room room(settings_of(2));
  auto crowd = arrive(room, 1, 40);
  room.now += 12 * kMinute;
  room.memory.outage_ended = true;
  EXPECT_EQ(room.poll(crowd[39]).rank, 38U);
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::admitted);
  EXPECT_EQ(room.summary.inside, 2U);
  EXPECT_FALSE(room.summary.recovering) << "nothing was lost, ranks are known";
}

TEST(RoomRecovery, AfterAnOutagePromotionGoesOnInOrder) {
  Room room(settings_of(2));
  auto crowd = arrive(room, 1, 40);
  room.now += 5 * kMinute;
  room.memory.outage_ended = true;
  room.tick();
  room.release(crowd[0]);
  EXPECT_EQ(room.summary.granted, 1U);
  EXPECT_EQ(room.poll(crowd[39]).state, State::waiting) << "the first to ask again does not pass those who were told to wait";
  EXPECT_EQ(room.poll(crowd[2]).state, State::admitted);
}

TEST(RoomRecovery, AKeyChangeOrRestartInBetweenEndsNoSession) {  // case 61: what counts is what the token says
  Room room(settings_of(3));
  auto crowd = arrive(room, 1, 3);
  for (int restart = 0; restart < 3; ++restart) {
    room.lose();
    room.now += kSecond;
    for (auto& v : crowd) EXPECT_EQ(room.heartbeat(v).state, State::admitted);
  }
}

TEST(RoomRecovery, OrderHoldsOverThreeLosses) {
  Room room(settings_of(0));
  std::vector<Visitor> crowd;
  for (int life = 0; life < 3; ++life) {
    for (const Visitor& v : arrive(room, 1 + 10 * static_cast<std::uint64_t>(life), 10)) crowd.push_back(v);
    room.lose();
    room.now += life == 1 ? -kMinute : kMinute;
  }
  for (std::size_t i = crowd.size(); i-- > 0;) room.poll(crowd[i]);
  room.now += window(room);
  for (std::size_t i = 0; i < crowd.size(); ++i) EXPECT_EQ(room.poll(crowd[i]).rank, i + 1);
}

}  // namespace
}  // namespace fairway::room::test
