// Sessions that are inside without this state knowing it: let in by an earlier one, or by a gateway alone.
#include <gtest/gtest.h>

#include "room_visit.h"

namespace fairway::room::test {
namespace {

TEST(RoomTakeover, PassesOfAnEarlierEpochAreTakenOverEvenAboveCapacity) {
  Room room(settings_of(4));
  auto crowd = arrive(room, 1, 4);
  room.lose();
  room.settings.capacity = 2;
  for (auto& v : crowd) {
    const Micros admitted = v.admitted;
    const Answer answer = room.heartbeat(v);
    EXPECT_EQ(answer.state, State::admitted);
    EXPECT_EQ(answer.admitted_at, admitted) << "as the pass says";
  }
  EXPECT_EQ(room.summary.inside, 4U);
  EXPECT_EQ(room.summary.admitted_total, 0U) << "they were inside already";
}

TEST(RoomTakeover, TakingOverStopsAtCapacityPlusMaxWaiting) {
  Settings settings = settings_of(4);
  settings.max_waiting = 1;
  Room room(settings);
  auto crowd = arrive(room, 1, 4);
  room.settings.capacity = 1;
  room.lose();
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::admitted);
  EXPECT_EQ(room.heartbeat(crowd[1]).state, State::admitted);
  EXPECT_EQ(room.heartbeat(crowd[2]).state, State::waiting) << "the pass still claims its place in line";
}

TEST(RoomTakeover, APassOfThisEpochIsNotTakenOver) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  room.now += room.settings.session_timeout;
  room.poll(crowd[1]);
  room.tick();
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::waiting) << "the slot was lost and given away";
}

TEST(RoomTakeover, APassGivenWithoutTheStoreIsTakenOverAndDrawsANumber) {
  Room room(settings_of(1));
  arrive(room, 1, 1);
  Visitor guest = room.visitor(9);
  guest.admitted = room.now - 90 * kSecond;
  const Answer answer = room.heartbeat(guest);
  EXPECT_EQ(answer.state, State::admitted);
  EXPECT_TRUE(answer.created);
  EXPECT_EQ(answer.admitted_at, room.now - 90 * kSecond);
  EXPECT_EQ(answer.number, room.summary.last_number);
  EXPECT_EQ(room.summary.inside, 2U);
}

TEST(RoomTakeover, AWaiterWithAPassGivenWithoutTheStoreLeavesTheLine) {
  Room room(settings_of(1));
  auto crowd = arrive(room, 1, 2);
  Visitor guest = crowd[1];
  guest.epoch = guest.number = 0;
  guest.admitted = room.now - kSecond;
  EXPECT_EQ(room.heartbeat(guest).state, State::admitted);
  EXPECT_EQ(room.summary.waiting, 0U);
}

TEST(RoomTakeover, AnAdmissionInTheFutureCountsFromNow) {
  Room room(settings_of(1));
  Visitor guest = room.visitor(9);
  guest.admitted = room.now + 3600 * kSecond;
  EXPECT_EQ(room.heartbeat(guest).admitted_at, room.now);
}

TEST(RoomTakeover, AnEndedSessionIsNotTakenOver) {
  Room room(settings_of(2));
  auto crowd = arrive(room, 1, 2);
  room.release(crowd[0]);
  room.memory.version += 5;  // rolled back: a new epoch that still knows the mark
  room.tick();
  EXPECT_EQ(room.heartbeat(crowd[0]).state, State::gone);
  EXPECT_EQ(room.enter(crowd[0]).state, State::gone);
}

}  // namespace
}  // namespace fairway::room::test
