// Who comes in and in which order, as long as everybody behaves.
#include <gtest/gtest.h>

#include "room_visit.h"

namespace fairway::room::test {
namespace {

TEST(RoomLine, ANewcomerEntersAtOnceWhileThereIsRoom) {
  Room room(settings_of(2));
  Visitor a = room.visitor(1);
  const Answer answer = room.enter(a);
  EXPECT_EQ(answer.state, State::admitted);
  EXPECT_TRUE(answer.created);
  EXPECT_EQ(answer.number, static_cast<std::uint64_t>(kStart) + 1) << "one above the epoch, which is the opening time";
  EXPECT_EQ(answer.epoch, static_cast<std::uint64_t>(kStart));
  EXPECT_EQ(answer.admitted_at, kStart);
  EXPECT_EQ(answer.expires, kStart + room.settings.session_timeout);
  EXPECT_EQ(room.summary.inside, 1U);
  EXPECT_EQ(room.summary.granted, 0U);
  EXPECT_EQ(room.summary.admitted_total, 1U);
}

TEST(RoomLine, ComingInIsSaidOnce) {
  Room room(settings_of(1));
  Visitor direct = room.visitor(1);
  Visitor called = room.visitor(2);
  Visitor asks = room.visitor(3);
  EXPECT_TRUE(room.enter(direct).came_in);
  EXPECT_FALSE(room.enter(direct).came_in);
  EXPECT_FALSE(room.enter(called).came_in);
  EXPECT_FALSE(room.enter(asks).came_in);
  room.now += kSecond;
  room.release(direct);  // the next one is called
  const Micros granted = room.now;
  room.now += kSecond;
  const Answer claims = room.poll(called);
  EXPECT_TRUE(claims.came_in);
  EXPECT_EQ(claims.admitted_at, granted);
  EXPECT_FALSE(room.poll(called).came_in);
  room.settings.capacity = 2;
  EXPECT_TRUE(room.poll(asks).came_in) << "let in by its own call";
  EXPECT_FALSE(room.heartbeat(asks).came_in);
}

TEST(RoomLine, NumbersAreArrivalTimesAndAlwaysGrow) {
  Room room(settings_of(0));
  std::vector<Visitor> crowd;
  for (std::uint64_t i = 1; i <= 3; ++i) crowd.push_back(room.visitor(i));
  for (Visitor& v : crowd) room.enter(v);
  EXPECT_EQ(crowd[1].number, crowd[0].number + 1);
  EXPECT_EQ(crowd[2].number, crowd[1].number + 1);
  room.now += kSecond;
  Visitor later = room.visitor(9);
  room.enter(later);
  EXPECT_EQ(later.number, static_cast<std::uint64_t>(room.now));
}

TEST(RoomLine, TheOthersWaitInTheOrderTheyCame) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 5);
  EXPECT_EQ(room.poll(crowd[0]).state, State::admitted);
  for (std::size_t i = 1; i < crowd.size(); ++i) {
    const Answer answer = room.poll(crowd[i]);
    EXPECT_EQ(answer.state, State::waiting);
    EXPECT_EQ(answer.rank, i);
    EXPECT_FALSE(answer.created);
  }
  EXPECT_EQ(room.summary.waiting, 4U);
}

TEST(RoomLine, AFreedSlotGoesToTheHeadNotToANewcomer) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 3);
  room.release(crowd[0]);
  Visitor newcomer = room.visitor(99);
  EXPECT_EQ(room.enter(newcomer).rank, 2U);
  EXPECT_EQ(room.poll(crowd[1]).state, State::admitted);
  EXPECT_EQ(room.poll(crowd[2]).rank, 1U);
}

TEST(RoomLine, ANewcomerNeverPassesAWaiterInTheCallThatFreesASlot) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  const Visitor newcomer = room.visitor(99);
  const auto answers = room.batch({room.operation(Kind::enter, newcomer), room.operation(Kind::release, crowd[0])});
  EXPECT_EQ(answers[0].state, State::waiting);
  EXPECT_EQ(answers[1].state, State::released);
  EXPECT_EQ(room.summary.granted, 1U) << "the waiter holds a grant";
}

TEST(RoomLine, ManyRequestsOfOneSessionMakeOnePlace) {
  Room room(settings_of(1));
  arrive(room, 1, 1);
  const Visitor v = room.visitor(7);
  const auto answers = room.batch({room.operation(Kind::enter, v), room.operation(Kind::enter, v), room.operation(Kind::poll, v)});
  EXPECT_EQ(room.summary.waiting, 1U);
  EXPECT_TRUE(answers[0].created);
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.number, answers[0].number);
    EXPECT_EQ(answer.rank, 1U);
  }
  EXPECT_FALSE(answers[1].created);
}

TEST(RoomLine, APollNeverMakesAPlace) {
  Room room(settings_of(5));
  Visitor stranger = room.visitor(1);
  EXPECT_EQ(room.poll(stranger).state, State::unknown);
  EXPECT_EQ(room.summary.inside + room.summary.waiting, 0U);
}

TEST(RoomLine, BeyondMaxWaitingTheAnswerIsFullAndNothingIsDrawn) {
  Settings settings = settings_of(1);
  settings.max_waiting = 2;
  Room room(settings);
  arrive(room, 1, 3);
  const std::uint64_t last = room.summary.last_number;
  Visitor late = room.visitor(50);
  EXPECT_EQ(room.enter(late).state, State::full);
  EXPECT_EQ(room.summary.last_number, last);
  EXPECT_EQ(room.summary.waiting, 2U);
}

TEST(RoomLine, CapacityZeroLetsNobodyIn) {
  Room room(settings_of(0));
  Visitor v = room.visitor(1);
  EXPECT_EQ(room.enter(v).rank, 1U);
  EXPECT_EQ(room.poll(v).state, State::waiting);
}

TEST(RoomLine, MoreCapacityCallsWaitersAndLessPutsNobodyOut) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 4);
  room.settings.capacity = 3;
  room.tick();
  EXPECT_EQ(room.summary.inside, 3U);
  room.settings.capacity = 1;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(room.enter(crowd[i]).state, State::admitted);
  room.release(crowd[0]);
  room.release(crowd[1]);
  EXPECT_EQ(room.poll(crowd[3]).state, State::waiting) << "one inside is all that fits now";
}

TEST(RoomLine, PollIntervalsGrowWithRank) {
  Settings settings = settings_of(0);
  Room room(settings);
  auto crowd = arrive(room, 1, 120);
  EXPECT_EQ(room.poll(crowd[0]).interval, 3 * kSecond);
  EXPECT_EQ(room.poll(crowd[49]).interval, 3 * kSecond);
  EXPECT_EQ(room.poll(crowd[99]).interval, 6 * kSecond) << "3 s x 100 / 50";
}

// Case 17: no window of the length of the rate, wherever it begins, admits more.
TEST(RoomLine, TheRateHoldsInEveryWindow) {
  Settings settings = settings_of(1000);
  settings.rate = 10;
  settings.rate_window = kSecond;
  Room room(settings);
  std::vector<Micros> admissions;
  std::uint64_t before = 0;
  for (std::uint64_t i = 1; i <= 400; ++i) {
    Visitor v = room.visitor(i);
    room.enter(v);
    admissions.insert(admissions.end(), room.summary.admitted_total - before, room.now);
    before = room.summary.admitted_total;
    room.now += 13'000 + static_cast<Micros>(i % 7) * 1000;
  }
  ASSERT_GT(admissions.size(), 50U);
  for (std::size_t i = 10; i < admissions.size(); ++i) EXPECT_GE(admissions[i] - admissions[i - 10], kSecond);
}

TEST(RoomLine, TheRateIsUsedUpInFull) {
  Settings settings = settings_of(1000);
  settings.rate = 10;
  settings.rate_window = kSecond;
  Room room(settings);
  arrive(room, 1, 100);
  EXPECT_EQ(room.summary.admitted_total, 10U);
  room.now = kStart + kSecond;
  room.tick();
  EXPECT_EQ(room.summary.admitted_total, 11U) << "the first admission is a window ago, the others are 1 ms younger";
  room.now += 9000;
  room.tick();
  EXPECT_EQ(room.summary.admitted_total, 20U);
}

TEST(RoomLine, RateZeroPerWindowAdmitsNobody) {
  Settings settings = settings_of(5);
  settings.rate_window = kSecond;
  Room room(settings);
  Visitor v = room.visitor(1);
  EXPECT_EQ(room.enter(v).state, State::waiting);
}

TEST(RoomLine, HoldLetsTheLineFormAndCallsNobody) {
  Room room(settings_of(1));
  room.settings.mode = Mode::hold;
  auto crowd = arrive(room, 1, 2);
  EXPECT_EQ(room.poll(crowd[0]).state, State::waiting);
  EXPECT_EQ(room.summary.waiting, 2U);
  room.settings.mode = Mode::normal;
  EXPECT_EQ(room.poll(crowd[0]).state, State::admitted);
}

TEST(RoomLine, HoldKeepsGrantsAlreadyMade) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  room.release(crowd[0]);
  ASSERT_EQ(room.summary.granted, 1U);
  room.settings.mode = Mode::hold;
  EXPECT_EQ(room.enter(crowd[1]).state, State::admitted);
}

TEST(RoomLine, ClosedKeepsPlacesAndTurnsNewcomersAway) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 3);
  room.settings.mode = Mode::closed;
  Visitor newcomer = room.visitor(99);
  EXPECT_EQ(room.enter(newcomer).state, State::closed);
  EXPECT_EQ(newcomer.number, 0U);
  const Answer waiter = room.enter(crowd[2]);
  EXPECT_EQ(waiter.state, State::closed);
  EXPECT_EQ(waiter.number, crowd[2].number) << "the place is kept and told";
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::admitted) << "those inside go on";
  room.now += room.settings.abandon_timeout + 5 * kMinute;
  room.heartbeat(crowd[0]);
  EXPECT_EQ(room.summary.waiting, 2U) << "closed drops nobody";
  room.settings.mode = Mode::normal;
  EXPECT_EQ(room.poll(crowd[2]).state, State::waiting);
}

TEST(RoomLine, ClosedCallsNobody) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  room.settings.mode = Mode::closed;
  room.release(crowd[0]);
  EXPECT_EQ(room.summary.inside, 0U);
  EXPECT_EQ(room.summary.waiting, 1U);
}

TEST(RoomLine, OpenLetsEveryCallerInAndCountsThem) {
  Settings settings = settings_of(1);
  settings.rate = 1;
  settings.rate_window = kSecond;
  Room room(settings);
  auto crowd = arrive(room, 1, 4);
  room.settings.mode = Mode::open;
  Visitor newcomer = room.visitor(99);
  EXPECT_EQ(room.enter(newcomer).state, State::admitted);
  EXPECT_EQ(room.poll(crowd[3]).state, State::admitted);
  EXPECT_EQ(room.summary.inside, 3U);
  EXPECT_EQ(room.summary.waiting, 2U);
  room.settings.mode = Mode::normal;
  EXPECT_EQ(room.enter(newcomer).state, State::admitted) << "above capacity, but inside";
  EXPECT_EQ(room.poll(crowd[1]).state, State::waiting);
}

TEST(RoomLine, TheClockNeverStepsBack) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  const Micros before = room.summary.now;
  room.now -= 3600 * kSecond;
  Visitor v = room.visitor(9);
  room.enter(v);
  EXPECT_EQ(room.summary.now, before);
  EXPECT_GT(v.number, crowd[1].number);
  room.now += 5 * kSecond;
  room.tick();
  EXPECT_EQ(room.summary.now, before + 5 * kSecond);
}

TEST(RoomLine, TheVersionGrowsWithEachCallAndEachEnd) {
  Room room(settings_of(1));
  Visitor v = room.visitor(1);
  room.enter(v);
  const std::uint64_t version = room.summary.version;
  room.tick();
  EXPECT_EQ(room.summary.version, version + 1);
  room.release(v);
  EXPECT_EQ(room.summary.version, version + 3);
}

TEST(RoomLine, ReachingRankOneIsFollowedByEntryWithoutASecondWait) {  // case 45
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  EXPECT_EQ(room.poll(crowd[1]).rank, 1U);
  room.release(crowd[0]);
  EXPECT_EQ(room.poll(crowd[1]).state, State::admitted);
  EXPECT_EQ(room.enter(crowd[1]).state, State::admitted);
}

}  // namespace
}  // namespace fairway::room::test
