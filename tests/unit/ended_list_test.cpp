#include "core/ended_list.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace fairway {
namespace {

class EndedListTest : public ::testing::Test {
 protected:
  EndedList& make(std::size_t entries) {
    block_ = std::make_unique<std::uint64_t[]>(EndedList::bytes(entries) / 8 + 1);
    return *EndedList::create(block_.get(), entries);
  }
  Sid sid() {
    Sid out;
    for (auto& byte : out.bytes) {
      byte = static_cast<std::uint8_t>(random_());
    }
    return out;
  }

 private:
  std::unique_ptr<std::uint64_t[]> block_;
  std::mt19937_64 random_{42};
};

TEST_F(EndedListTest, AnEntryCountsUntilItsEnd) {
  EndedList& list = make(64);
  const Sid ended = sid();
  EXPECT_FALSE(list.contains(ended, 100));
  list.add(ended, 160, 100);
  EXPECT_TRUE(list.contains(ended, 100));
  EXPECT_TRUE(list.contains(ended, 159));
  EXPECT_FALSE(list.contains(ended, 160));
  EXPECT_FALSE(list.contains(sid(), 100));
}

TEST_F(EndedListTest, AddingAgainProlongsAndNeverShortens) {
  EndedList& list = make(64);
  const Sid ended = sid();
  list.add(ended, 160, 100);
  list.add(ended, 200, 100);
  list.add(ended, 150, 100);
  EXPECT_TRUE(list.contains(ended, 199));
  int found = 0;
  list.each(100, [&](const Sid& entry, std::int64_t until) {
    EXPECT_EQ(entry, ended);
    EXPECT_EQ(until, 200);
    ++found;
  });
  EXPECT_EQ(found, 1);
}

TEST_F(EndedListTest, AFullListIsCrowdedUntilTheDroppedEntryWouldHaveEnded) {
  EndedList& list = make(EndedList::kWays);  // one set
  std::vector<Sid> sids;
  for (std::size_t i = 0; i < EndedList::kWays; ++i) {
    sids.push_back(sid());
    list.add(sids.back(), 200 + static_cast<std::int64_t>(i), 100);
  }
  EXPECT_FALSE(list.crowded(100));
  const Sid extra = sid();
  list.add(extra, 300, 100);
  EXPECT_TRUE(list.contains(extra, 100));
  EXPECT_FALSE(list.contains(sids.front(), 100));  // the one that would have ended first made room
  EXPECT_TRUE(list.crowded(199));
  EXPECT_FALSE(list.crowded(200));
  for (std::size_t i = 1; i < sids.size(); ++i) {
    EXPECT_TRUE(list.contains(sids[i], 100));
  }
}

TEST_F(EndedListTest, ExpiredEntriesMakeRoomWithoutCrowding) {
  EndedList& list = make(EndedList::kWays);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < EndedList::kWays; ++i) {
      list.add(sid(), 100 * (round + 2), 100 * (round + 1));
    }
  }
  EXPECT_FALSE(list.crowded(1000));
}

}  // namespace
}  // namespace fairway
