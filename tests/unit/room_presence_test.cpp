// Who counts as present, who loses a turn or a slot, who gets the old number back, and whom nothing brings back.
#include <gtest/gtest.h>

#include "room_visit.h"

namespace fairway::room::test {
namespace {

TEST(RoomPresence, ACalledVisitorHoldsAGrantUntilItIsClaimed) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  room.release(crowd[0]);
  EXPECT_EQ(room.summary.granted, 1U);
  room.now += 29 * kSecond;
  const Answer answer = room.enter(crowd[1]);
  EXPECT_EQ(answer.state, State::admitted);
  EXPECT_EQ(answer.expires, room.now + room.settings.session_timeout) << "the grant became a full session";
  EXPECT_EQ(room.summary.granted, 0U);
}

TEST(RoomPresence, AGrantNobodyClaimsEndsAfterGrantTimeout) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 3);
  room.poll(crowd[2]);
  room.release(crowd[0]);
  room.now += room.settings.grant_timeout - 1 - kSecond;
  room.poll(crowd[2]);
  EXPECT_EQ(room.summary.waiting, 1U);
  room.now += kSecond + 1;
  EXPECT_EQ(room.poll(crowd[2]).state, State::admitted);
}

TEST(RoomPresence, AGrantLastsUntilTheVisitorIsDueToAsk) {
  Settings settings = settings_of(1);
  settings.poll_min = settings.poll_max = 40 * kSecond;
  Room room(settings);
  auto crowd = arrive(room, 1, 2);
  const Micros due = room.now - 1000 + 80 * kSecond;
  room.release(crowd[0]);
  room.now = due - 1;
  EXPECT_EQ(room.tick().granted, 1U);
  EXPECT_EQ(room.enter(crowd[1]).state, State::admitted);
}

TEST(RoomPresence, WhoIsToldToAskInLessThanASecondIsThereForTwo) {  // Retry-After is whole seconds, one at least
  Settings settings = settings_of(1);
  settings.poll_min = 100'000;
  for (const Micros silent : {2 * kSecond, 2 * kSecond + 1}) {
    Room room(settings);
    auto crowd = arrive(room, 1, 2);
    room.now += silent - 1000;
    room.release(crowd[0]);
    EXPECT_EQ(room.summary.granted, silent == 2 * kSecond ? 1U : 0U);
  }
}

TEST(RoomPresence, ASlotEndsAfterSessionTimeoutWithoutHeartbeat) {  // case 4
  Room room(settings_of(1));
  Visitor v = room.visitor(1);
  room.enter(v);
  for (int i = 0; i < 10; ++i) {
    room.now += room.settings.session_timeout - 1;
    EXPECT_EQ(room.heartbeat(v).state, State::admitted);
  }
  room.now += room.settings.session_timeout;
  room.tick();
  EXPECT_EQ(room.summary.inside, 0U);
}

TEST(RoomPresence, OneWhoseSessionTimedOutComesBackInFrontWithOneSlot) {  // cases 4 and 35
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 3);
  room.now += room.settings.session_timeout;
  for (auto& v : crowd) v.issued = room.now;
  room.batch({room.operation(Kind::poll, crowd[1]), room.operation(Kind::poll, crowd[2])});
  EXPECT_EQ(room.summary.inside, 1U);
  const Answer back = room.enter(crowd[0]);
  EXPECT_EQ(back.state, State::waiting);
  EXPECT_EQ(back.number, crowd[0].number);
  EXPECT_FALSE(back.created);
  EXPECT_EQ(back.rank, 1U) << "the old number is before the one still waiting";
  EXPECT_EQ(room.summary.inside, 1U);
}

TEST(RoomPresence, SessionMaxIsAHardEnd) {
  Settings settings = settings_of(1);
  settings.session_max = 15 * kMinute;
  Room room(settings);
  Visitor v = room.visitor(1);
  room.enter(v);
  room.now += 8 * kMinute;
  EXPECT_EQ(room.heartbeat(v).expires, kStart + 15 * kMinute) << "never beyond it";
  room.now = kStart + 15 * kMinute;
  EXPECT_EQ(room.heartbeat(v).state, State::gone);
  EXPECT_EQ(room.enter(v).state, State::gone) << "the visitor starts anew with a new session";
}

TEST(RoomPresence, FiveClosedTabsAtTheHeadCostOneGrant) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 7);
  // Everybody asked once; then tabs 1 to 5 are closed and the last one goes on asking.
  for (std::size_t i = 1; i < crowd.size(); ++i) room.poll(crowd[i]);
  room.release(crowd[0]);
  const Micros freed = room.now;
  while (room.poll(crowd[6]).state != State::admitted) {
    ASSERT_LT(room.now - freed, 2 * room.settings.grant_timeout);
    room.now += kSecond;
  }
  EXPECT_LE(room.now - freed, room.settings.grant_timeout + kSecond);
}

TEST(RoomPresence, AWaiterWhoLostATurnGetsTheOldNumberBack) {  // case 38
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 4);
  const std::uint64_t number = crowd[1].number;
  room.now += 60 * kSecond;
  room.batch({room.operation(Kind::poll, crowd[2]), room.operation(Kind::poll, crowd[3])});
  room.release(crowd[0]);
  EXPECT_EQ(room.poll(crowd[2]).state, State::admitted) << "the absent head was passed over";
  const Answer back = room.poll(crowd[1]);
  EXPECT_EQ(back.state, State::waiting);
  EXPECT_EQ(back.number, number);
  EXPECT_EQ(back.rank, 1U) << "first in the next promotion";
}

TEST(RoomPresence, BackInTimeMeansTheSamePlace) {  // case 38: cut off for less than the patience
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 4);
  room.now += 60 * kSecond;
  EXPECT_EQ(room.poll(crowd[3]).rank, 3U);
  EXPECT_EQ(room.poll(crowd[1]).rank, 1U);
}

TEST(RoomPresence, AHiddenTabThatAsksOnceAMinuteIsCalled) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  for (int minute = 0; minute < 3; ++minute) {
    room.now += kMinute;
    EXPECT_EQ(room.poll(crowd[1]).state, State::waiting);
  }
  room.now += kSecond;
  room.release(crowd[0]);
  EXPECT_EQ(room.summary.granted, 1U);
  room.now += 59 * kSecond;  // longer than grant_timeout, but it was not due before 90 s
  EXPECT_EQ(room.tick().granted, 1U);
  EXPECT_EQ(room.enter(crowd[1]).state, State::admitted);
}

TEST(RoomPresence, PatienceWithAHiddenTabEndsAt90Seconds) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  room.now += 30 * kSecond;
  crowd[1].issued = room.now - 3600 * kSecond;
  room.poll(crowd[1]);
  const Micros asked = room.now;
  room.now = asked + 90 * kSecond + room.settings.abandon_timeout - 1;
  room.heartbeat(crowd[0]);
  EXPECT_EQ(room.summary.waiting, 1U);
  room.now += 1;
  room.tick();
  EXPECT_EQ(room.summary.waiting, 0U);
}

TEST(RoomPresence, AbandonedPlacesLeaveTheLineAndRanksCloseUp) {  // case 2
  Room room(settings_of(0));
  auto gone = arrive(room, 1, 100);
  Visitor last = room.visitor(500);
  room.enter(last);
  EXPECT_EQ(room.poll(last).rank, 101U);
  const Micros asked = room.now;
  room.now = asked + 20 * kSecond;
  room.poll(last);
  room.now = asked + 12 * kSecond + room.settings.abandon_timeout;  // 2 x 6 s for those furthest back
  EXPECT_EQ(room.poll(last).rank, 1U);
  EXPECT_EQ(room.summary.waiting, 1U);
  EXPECT_EQ(room.summary.abandoned_total, 100U);
}

TEST(RoomPresence, OneDroppedComesBackWithinTheGraceAndNotLater) {
  Room room(settings_of(0));
  auto crowd = arrive(room, 1, 2);
  room.now += 5 * kMinute;
  room.tick();
  ASSERT_EQ(room.summary.waiting, 0U);
  room.now += room.settings.return_grace;
  EXPECT_EQ(room.enter(crowd[0]).state, State::waiting);
  room.now += 1;
  EXPECT_EQ(room.enter(crowd[1]).state, State::gone);
}

TEST(RoomPresence, ASecondChanceDoesNotStartTheGraceAnew) {
  Room room(settings_of(0));
  auto crowd = arrive(room, 1, 1);
  room.now += 5 * kMinute;
  room.tick();  // the first loss
  room.now += 8 * kMinute;
  ASSERT_EQ(room.enter(crowd[0]).state, State::waiting);
  room.now += 5 * kMinute;
  room.tick();  // lost again, 13 min after the first
  EXPECT_EQ(room.enter(crowd[0]).state, State::gone);
}

TEST(RoomPresence, OldInsidersCannotStarveANewcomer) {
  Room room(settings_of(1));
  Visitor old = room.visitor(1);
  Visitor newcomer = room.visitor(2);
  room.enter(old);
  room.enter(newcomer);
  // The old one times out and comes back in front again and again.
  const Micros give_up = room.now + 60 * kMinute;
  while (room.poll(newcomer).state != State::admitted) {
    ASSERT_LT(room.now, give_up);
    if (!room.inside(old)) room.enter(old);
    room.now += 20 * kSecond;
  }
  EXPECT_LE(room.now, kStart + 2 * room.settings.session_timeout + room.settings.return_grace);
}

TEST(RoomPresence, ALostSessionWithoutClaimDrawsANewNumber) {
  Room room(settings_of(0));
  auto crowd = arrive(room, 1, 1);
  room.now += 5 * kMinute;
  room.tick();
  Visitor bare = room.visitor(1);
  const Answer answer = room.enter(bare);
  EXPECT_TRUE(answer.created);
  EXPECT_GT(answer.number, crowd[0].number);
}

TEST(RoomPresence, ReleaseFreesTheSlotAtOnceAndEndsTheSession) {  // cases 5 and 30
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  const Visitor old = crowd[0];
  EXPECT_EQ(room.release(crowd[0]).state, State::released);
  EXPECT_EQ(room.enter(crowd[1]).state, State::admitted);
  Visitor replay = old;
  EXPECT_EQ(room.enter(replay).state, State::gone);
  EXPECT_EQ(room.heartbeat(replay).state, State::gone);
  EXPECT_EQ(room.poll(replay).state, State::gone);
  EXPECT_EQ(room.release(replay).state, State::released) << "again does no harm";
}

TEST(RoomPresence, ReleaseOfAPlaceLetsTheRanksCloseUp) {
  Room room(settings_of(0));
  auto crowd = arrive(room, 1, 3);
  room.release(crowd[0]);
  EXPECT_EQ(room.poll(crowd[2]).rank, 2U);
  EXPECT_EQ(room.enter(crowd[0]).state, State::gone);
}

TEST(RoomPresence, TheEndWinsOverOtherRequestsOfTheSameCall) {
  Room room(settings_of(1));
  Visitor v = room.visitor(1);
  room.enter(v);
  const auto answers = room.batch({room.operation(Kind::enter, v), room.operation(Kind::release, v)});
  EXPECT_EQ(answers[0].state, State::gone);
  EXPECT_EQ(answers[1].state, State::released);
  EXPECT_EQ(room.state().inconsistency(), nullptr);
}

TEST(RoomPresence, ReleaseOfATicketThatNeverJoinedKeepsNothing) {
  Room room(settings_of(1));
  Visitor stranger = room.visitor(1);
  EXPECT_EQ(room.release(stranger).state, State::released);
  EXPECT_TRUE(room.empty());
}

TEST(RoomPresence, MarksAreForgottenWhenTheirTokensArePastUse) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 1);
  room.release(crowd[0]);
  room.now += token_life(room.settings) - 1;
  room.tick();
  EXPECT_EQ(room.enter(crowd[0]).state, State::gone);
  room.now += 1;
  room.tick();
  EXPECT_TRUE(room.empty());
}

TEST(RoomPresence, MarksOutliveTheTokensOfEarlierSettings) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 1);
  const Micros ticket_until = room.now + token_life(room.settings) - kSecond;
  room.settings.session_timeout = room.settings.return_grace = room.settings.abandon_timeout = 2 * kSecond;
  room.release(crowd[0]);
  for (; room.now < ticket_until; room.now += kMinute) ASSERT_EQ(room.enter(crowd[0]).state, State::gone);
}

TEST(RoomPresence, CountersAddUp) {  // case 7
  Room room(settings_of(2));
  auto crowd = arrive(room, 1, 20);
  room.release(crowd[5]);
  room.release(crowd[0]);
  room.now += 30 * kMinute;
  room.settle();
  const Summary& s = room.summary;
  EXPECT_EQ(s.waiting, 0U);
  EXPECT_EQ(s.admitted_total + s.abandoned_total, 19U) << "all that joined, but for the one that left the line";
}

TEST(RoomPresence, ThroughputHoldsWhenMostNeverComeBack) {  // case 13
  Settings settings = settings_of(100000);
  settings.rate = 10;
  settings.rate_window = kSecond;
  settings.session_timeout = 2 * kMinute;
  Room room(settings, 8 << 20);
  std::vector<Visitor> crowd = arrive(room, 1, 3000);
  const Micros start = room.now;
  std::size_t in = 0;
  std::vector<bool> done(crowd.size());
  // One in ten goes on asking.
  for (int second = 0; second < 180; ++second) {
    room.now = start + second * kSecond;
    for (std::size_t i = 0; i < crowd.size(); i += 10) {
      if (done[i] || second % 3 != 0) continue;
      done[i] = room.poll(crowd[i]).state == State::admitted;
      in += done[i];
    }
    room.settle();
  }
  EXPECT_EQ(in, 300U) << "everybody who stayed is in within three minutes, though 2,700 never came back";
}

}  // namespace
}  // namespace fairway::room::test
