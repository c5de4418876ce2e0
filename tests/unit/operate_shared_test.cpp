// What gateways of one store share: merging, versions, and the marks of files that differ.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "operate/settings_json.h"
#include "operate/shared_adjustments.h"

namespace fairway::operate {
namespace {

// nginx.conf of a gateway: rooms and their capacity.
FileOf files(std::map<std::string, std::uint32_t, std::less<>> rooms) {
  return [rooms = std::move(rooms)](std::string_view name) -> std::optional<RoomSettings> {
    const auto found = rooms.find(name);
    if (found == rooms.end()) return std::nullopt;
    RoomSettings settings;
    settings.settings.capacity = found->second;
    return settings;
  };
}

RoomSettings file_of(std::uint32_t capacity) {
  return *files({{"sale", capacity}})("sale");
}

// A change by an operator, as the API makes it.
Adjustments changed(Adjustments all, const std::string& room, const std::string& capacity, const std::string& file, std::uint64_t version) {
  const Adjustments before = all;
  all.rooms[room].fields["capacity"] = Override{capacity, file};
  stamp(before, all, version);
  return all;
}

TEST(Stamping, OnlyWhatChangedGetsTheVersion) {
  Adjustments first = changed({}, "sale", "5", "1", 10);
  EXPECT_EQ(first.rooms["sale"].version, 10U);
  EXPECT_EQ(first.rooms["sale"].fields["capacity"].at, 10U);
  Adjustments second = first;
  second.rooms["sale"].fields["rate"] = Override{"5/s", "off"};
  second.rooms["other"].mode = room::Mode::hold;
  stamp(first, second, 11);
  EXPECT_EQ(second.rooms["sale"].version, 11U);
  EXPECT_EQ(second.rooms["sale"].fields["capacity"].at, 10U);
  EXPECT_EQ(second.rooms["sale"].fields["rate"].at, 11U);
  EXPECT_EQ(second.rooms["other"].version, 11U);
}

TEST(Stamping, WhatIsGoneKeepsAVersion) {
  const Adjustments before = changed({}, "sale", "5", "1", 10);
  Adjustments after;
  stamp(before, after, 11);
  EXPECT_TRUE(after.rooms.at("sale").says_nothing());
  EXPECT_EQ(after.rooms.at("sale").version, 11U);
  EXPECT_EQ(merge(before, after, files({})), after) << "an older text does not bring it back";
  EXPECT_EQ(merge(after, before, files({})), after);
}

TEST(Stamping, TheGoneAreBounded) {
  Adjustments all;
  for (std::uint64_t i = 0; i < 300; ++i) {
    Adjustments before = changed(all, "r" + std::to_string(i), "5", "1", 10 + 2 * i);
    all = before;
    all.rooms.erase("r" + std::to_string(i));
    stamp(before, all, 11 + 2 * i);
  }
  EXPECT_EQ(all.rooms.size(), 256U);
  EXPECT_FALSE(all.rooms.contains("r43"));
  EXPECT_TRUE(all.rooms.contains("r44"));
}

TEST(Versions, GrowWhateverTheClockSays) {
  const Adjustments all = changed({}, "sale", "5", "1", 1'000);
  EXPECT_EQ(next_version(all, 5), 1'001U);
  EXPECT_EQ(next_version(all, 5'000), 5'000U);
  EXPECT_EQ(next_version({}, 7), 7U);
}

TEST(MergingShared, TheLaterVersionOfEachRoomCounts) {
  const Adjustments base = changed(changed({}, "a", "1", "0", 1), "b", "1", "0", 2);
  const Adjustments ours = changed(base, "a", "2", "0", 5);
  const Adjustments theirs = changed(changed(base, "b", "3", "0", 4), "c", "4", "0", 6);
  const Adjustments merged = merge(ours, theirs, files({{"a", 0}, {"b", 0}, {"c", 0}}));
  EXPECT_EQ(merged.rooms.at("a").fields.at("capacity").value, "2");
  EXPECT_EQ(merged.rooms.at("b").fields.at("capacity").value, "3");
  EXPECT_EQ(merged.rooms.at("c").fields.at("capacity").value, "4");
}

TEST(MergingShared, OfTwoOfOneVersionTheStoresCounts) {
  const Adjustments ours = changed({}, "sale", "5", "1", 10);
  const Adjustments theirs = changed({}, "sale", "6", "1", 10);
  EXPECT_EQ(merge(ours, theirs, files({{"sale", 1}})), theirs);
}

TEST(MergingShared, QueuesAreNotShared) {
  Adjustments ours;
  ours.queues["app"] = {{"concurrency", {"5", "1"}}};
  Adjustments theirs = changed({}, "sale", "5", "1", 10);
  theirs.queues["app"] = {{"concurrency", {"9", "1"}}};
  EXPECT_EQ(merge(ours, theirs, files({{"sale", 1}})).queues, ours.queues);
  EXPECT_TRUE(shared_part(theirs).queues.empty());
}

TEST(Marks, AChangeCountsWhereTheFileSaysSomethingElse) {
  const Adjustments theirs = changed({}, "sale", "150", "100", 10);
  Adjustments here = merge({}, theirs, files({{"sale", 200}}));
  const Override& override = here.rooms["sale"].fields["capacity"];
  EXPECT_EQ(override.here, "200");
  EXPECT_FALSE(override.over);
  EXPECT_TRUE(settle(room_fields(), file_of(200), here.rooms["sale"].fields, true).empty()) << "the file is as it was";
  EXPECT_EQ(shared_part(here).rooms, theirs.rooms) << "marks are nobody else's business";
  EXPECT_EQ(settle(room_fields(), file_of(100), here.rooms["sale"].fields, true), std::vector<std::string>{"capacity"});
  EXPECT_TRUE(override.over);
}

TEST(Marks, WhatTheFileEndedStaysEndedUntilItIsSetAgain) {
  const FileOf file = files({{"sale", 100}});
  const Adjustments first = changed({}, "sale", "150", "100", 10);
  Adjustments here = first;
  EXPECT_EQ(settle(room_fields(), file_of(200), here.rooms["sale"].fields, true).size(), 1U);
  EXPECT_TRUE(settle(room_fields(), file_of(100), here.rooms["sale"].fields, true).empty());
  RoomSettings now = file_of(100);
  EXPECT_FALSE(apply(room_fields(), here.rooms["sale"].fields, now));
  EXPECT_EQ(now.settings.capacity, 100U);
  EXPECT_EQ(settings_json(room_fields(), now, here.rooms["sale"].fields)["capacity"], 100);
  EXPECT_TRUE(file_json(room_fields(), here.rooms["sale"].fields).empty());

  Adjustments other = first;  // something else is changed elsewhere
  other.rooms["sale"].mode = room::Mode::hold;
  stamp(first, other, 11);
  here = merge(here, other, file);
  EXPECT_TRUE(here.rooms["sale"].fields["capacity"].over);
  EXPECT_EQ(here.rooms["sale"].mode, room::Mode::hold);

  Adjustments again = other;  // the very same is set again
  again.rooms["sale"].fields["capacity"] = Override{"150", "100"};
  stamp(other, again, 12);
  here = merge(here, again, file);
  EXPECT_FALSE(here.rooms["sale"].fields["capacity"].over);
}

TEST(Marks, AreReadBackFromTheText) {
  Adjustments all = merge({}, changed({}, "sale", "150", "100", 10), files({{"sale", 200}}));
  all.rooms["sale"].fields["capacity"].over = true;
  all.rooms["flash"].made = all.rooms["flash"].in_file = true;
  std::string why;
  EXPECT_EQ(Adjustments::parse(all.text(), why), all);
}

TEST(Marks, ARoomThatAnotherConsoleMadeMayBeInTheFileHere) {
  Adjustments theirs = changed({}, "sale", "5", "0", 10);
  theirs.rooms["sale"].made = true;
  EXPECT_TRUE(merge({}, theirs, files({{"sale", 8}})).rooms.at("sale").in_file);
  EXPECT_FALSE(merge({}, theirs, files({})).rooms.at("sale").in_file);
}

TEST(Differences, AreToldInWords) {
  RoomAdjustment before;
  RoomAdjustment after;
  after.fields["capacity"] = Override{"8", "5"};
  after.fields["message"] = Override{"hello", ""};
  after.mode = room::Mode::hold;
  after.attach = {{"a.example", "/"}};
  RoomSettings file;
  file.settings.capacity = 5;
  EXPECT_EQ(difference(before, after, file), "capacity 5 → 8, message none → hello, attached to 1 place, mode normal → hold");
  EXPECT_EQ(difference(after, after, file), "");
}

// Gateways that change rooms, meet a store that takes, loses or rolls back, and hear of each other in any order: once the store is there
// and everybody has looked twice, all have the same, and it is the latest of each room.
RC_GTEST_PROP(MergingShared, EverybodyComesToTheSame, ()) {
  constexpr std::size_t kGateways = 3;
  std::vector<Adjustments> gateways(kGateways);
  Adjustments store;
  Adjustments older;
  const FileOf none = files({});
  const auto look = [&](Adjustments& gateway) {
    gateway = merge(gateway, store, none);
    store = shared_part(gateway);
  };
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    Adjustments& gateway = gateways[*rc::gen::inRange<std::size_t>(0, kGateways)];
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        older = store;
        break;
      case 1:
        store = older;
        break;
      case 2:
        store = {};
        break;
      case 3:
        gateway = {};  // lost its state folder
        break;
      case 4:
        look(gateway);
        break;
      default: {
        look(gateway);
        const std::string room(1, static_cast<char>('a' + *rc::gen::inRange(0, 3)));
        Adjustments next = gateway;
        if (*rc::gen::inRange(0, 4) == 0) {
          next.rooms.erase(room);
        } else {
          next.rooms[room].made = true;
          next.rooms[room].fields["capacity"] = Override{std::to_string(*rc::gen::inRange(0, 9)), "0"};
        }
        if (next == gateway) break;
        stamp(gateway, next, next_version(gateway, step));
        store = shared_part(gateway = next);
      }
    }
  }
  Rooms latest = store.rooms;
  for (const Adjustments& gateway : gateways) {
    for (const auto& [name, room] : gateway.rooms) {
      if (const auto known = latest.find(name); known == latest.end() || known->second.version < room.version) latest[name] = room;
    }
  }
  for (int round = 0; round < 2; ++round) {
    for (Adjustments& gateway : gateways) look(gateway);
  }
  for (const Adjustments& gateway : gateways) {
    RC_ASSERT(gateway.rooms == store.rooms);
    for (const auto& [name, room] : gateway.rooms) RC_ASSERT(room.version == latest.at(name).version);
    RC_ASSERT(gateway.rooms.size() == latest.size());
  }
}

}  // namespace
}  // namespace fairway::operate
