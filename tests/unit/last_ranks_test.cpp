#include "core/last_ranks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace fairway {
namespace {

constexpr std::size_t kEntries = 1024;

class LastRanksTest : public testing::Test {
 protected:
  Sid draw() {
    Sid sid;
    for (std::size_t i = 0; i < sid.bytes.size(); i += 8) {
      const std::uint64_t word = random_();
      std::memcpy(sid.bytes.data() + i, &word, 8);
    }
    return sid;
  }

  std::mt19937_64 random_{7};
  std::vector<std::uint64_t> block_ = std::vector<std::uint64_t>((LastRanks::bytes(kEntries) + 7) / 8, ~std::uint64_t{0});
  LastRanks& ranks_ = *LastRanks::create(block_.data(), kEntries);
};

TEST_F(LastRanksTest, TellsWhatWasToldLast) {
  const Sid sid = draw();
  EXPECT_EQ(ranks_.get(sid), 0U);
  ranks_.put(sid, 1342);
  EXPECT_EQ(ranks_.get(sid), 1342U);
  ranks_.put(sid, 7);
  EXPECT_EQ(ranks_.get(sid), 7U);
  EXPECT_EQ(ranks_.get(draw()), 0U);
}

TEST_F(LastRanksTest, ARankBeyondItsBitsIsKeptAsTheLargest) {
  const Sid sid = draw();
  ranks_.put(sid, std::uint64_t{1} << 40);
  EXPECT_EQ(ranks_.get(sid), LastRanks::kMaxRank);
}

TEST_F(LastRanksTest, AHalfFullTableKeepsNearlyAll) {
  std::vector<Sid> sids;
  for (std::uint64_t i = 1; i <= kEntries / 2; ++i) {
    sids.push_back(draw());
    ranks_.put(sids.back(), i);
  }
  std::size_t known = 0;
  for (std::uint64_t i = 1; i <= sids.size(); ++i) {
    const std::uint64_t rank = ranks_.get(sids[i - 1]);
    ASSERT_TRUE(rank == 0 || rank == i) << "never another one's";
    known += rank == i ? 1 : 0;
  }
  EXPECT_GT(known, sids.size() * 9 / 10);
}

TEST_F(LastRanksTest, AnOverfullTableForgetsAndNeverConfuses) {
  std::vector<Sid> sids;
  for (std::uint64_t i = 1; i <= 16 * kEntries; ++i) {
    sids.push_back(draw());
    ranks_.put(sids.back(), i);
    ASSERT_EQ(ranks_.get(sids.back()), i);
  }
  std::size_t known = 0;
  for (std::uint64_t i = 1; i <= sids.size(); ++i) {
    const std::uint64_t rank = ranks_.get(sids[i - 1]);
    ASSERT_TRUE(rank == 0 || rank == i);
    known += rank == i ? 1 : 0;
  }
  EXPECT_GT(known, kEntries / 2);
  EXPECT_LE(known, kEntries);
}

}  // namespace
}  // namespace fairway
