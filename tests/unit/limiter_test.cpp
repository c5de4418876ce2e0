#include "core/limiter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace fairway::test {
namespace {

// A limiter in memory that held something else before.
class Table {
 public:
  explicit Table(std::size_t entries)
      : block_(Limiter::bytes(entries) / sizeof(std::uint64_t) + 1, 0xdeadbeefdeadbeef),
        limiter_(Limiter::create(block_.data(), entries)) {}
  Limiter* operator->() { return limiter_; }

 private:
  std::vector<std::uint64_t> block_;
  Limiter* limiter_;
};

TEST(Limiter, AdmitsTheLimitAndNoMore) {
  Table table(8);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(table->admit(1, 5, 1000, 100));
  EXPECT_FALSE(table->admit(1, 5, 1000, 100));
  EXPECT_FALSE(table->admit(1, 5, 1000, 1099));
  EXPECT_TRUE(table->admit(2, 5, 1000, 100)) << "another key has its own count";
}

TEST(Limiter, ForgetsAfterTheWindowAndAFifteenth) {
  for (const std::uint64_t at : {0u, 1u, 66u, 67u, 999u, 123'456u}) {
    Table table(8);
    EXPECT_TRUE(table->admit(1, 1, 1500, at));
    EXPECT_FALSE(table->admit(1, 1, 1500, at + 1499));
    EXPECT_TRUE(table->admit(1, 1, 1500, at + 1600));
  }
}

TEST(Limiter, ZeroAdmitsNothing) {
  Table table(8);
  EXPECT_FALSE(table->admit(1, 0, 1000, 100));
  EXPECT_TRUE(table->admit(1, 1, 1000, 100));
}

TEST(Limiter, ARefusalIsNotCounted) {
  Table table(8);
  EXPECT_TRUE(table->admit(1, 1, 1000, 0));
  for (std::uint64_t now = 1; now < 1000; now += 10) EXPECT_FALSE(table->admit(1, 1, 1000, now));
  EXPECT_TRUE(table->admit(1, 1, 1000, 1067));
}

TEST(Limiter, RefundGivesBackOneEvent) {
  Table table(8);
  EXPECT_TRUE(table->admit(1, 2, 1000, 0));
  EXPECT_TRUE(table->admit(1, 2, 1000, 500));
  table->refund(1, 1000, 500);
  EXPECT_TRUE(table->admit(1, 2, 1000, 600));
  EXPECT_FALSE(table->admit(1, 2, 1000, 700));
  table->refund(2, 1000, 700);   // an unknown key is nothing
  table->refund(1, 1000, 5000);  // neither is an event long gone
  EXPECT_TRUE(table->admit(1, 2, 1000, 5000));
  EXPECT_TRUE(table->admit(1, 2, 1000, 5000));
  EXPECT_FALSE(table->admit(1, 2, 1000, 5000));
}

TEST(Limiter, LargestLimitAndTimes) {
  Table table(8);
  const std::uint32_t limit = 0xffffffff;
  const std::uint64_t window = std::uint64_t{1} << 40;  // more than 49 days: counts as 49 days
  const std::uint64_t now = std::uint64_t{1} << 56;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(table->admit(1, limit, window, now));
  EXPECT_FALSE(table->admit(1, 1000, window, now + 4'294'967'000));
  EXPECT_TRUE(table->admit(1, 1000, window, now + window));
  EXPECT_TRUE(table->admit(2, 1, 0, now)) << "a window of 0 counts as 1 ms";
  EXPECT_FALSE(table->admit(2, 1, 0, now));
  EXPECT_TRUE(table->admit(2, 1, 0, now + 2));
}

TEST(Limiter, AnotherWindowStartsAnew) {
  Table table(8);
  EXPECT_TRUE(table->admit(1, 1, 1000, 0));
  EXPECT_TRUE(table->admit(1, 1, 2000, 10));
  EXPECT_FALSE(table->admit(1, 1, 2000, 1900));
}

TEST(Limiter, ClockOfAnotherWorkerMayBeBehind) {
  Table table(8);
  EXPECT_TRUE(table->admit(1, 2, 1000, 5000));
  EXPECT_TRUE(table->admit(1, 2, 1000, 4900));
  EXPECT_FALSE(table->admit(1, 2, 1000, 5990));
  EXPECT_TRUE(table->admit(1, 2, 1000, 6067));
}

TEST(Limiter, KeysOfOneSetAreToldApart) {
  Table table(64);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(table->admit(i << 32, 1, 1000, 0));
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_FALSE(table->admit(i << 32, 1, 1000, 10)) << i;
}

TEST(Limiter, FullSetForgetsTheKeyThatRunsOutFirst) {
  Table table(64);
  const auto key = [](std::uint64_t i) { return i << 32; };
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(table->admit(key(i), 1, 1000, i));
  EXPECT_FALSE(table->admit(key(0), 1, 1000, 20)) << "a refusal keeps a key in use";
  EXPECT_TRUE(table->admit(key(8), 1, 1000, 21));
  EXPECT_FALSE(table->admit(key(0), 1, 1000, 22));
  EXPECT_FALSE(table->admit(key(2), 1, 1000, 23));
  EXPECT_TRUE(table->admit(key(1), 1, 1000, 24)) << "key 1 was the oldest";
}

TEST(Limiter, LongWindowsSurviveAFloodOfShortOnes) {
  Table table(8);
  EXPECT_TRUE(table->admit(1, 1, 60'000, 0));
  for (std::uint64_t i = 10; i < 10'000; ++i) ASSERT_TRUE(table->admit(i, 1, 1000, i));
  EXPECT_FALSE(table->admit(1, 1, 60'000, 10'000));
}

TEST(Limiter, SizesAreBounded) {
  EXPECT_EQ(Limiter::bytes(0), Limiter::bytes(8));
  EXPECT_EQ(Limiter::bytes(9), Limiter::bytes(16));
  EXPECT_LE(Limiter::bytes(65'536), 65'536u * 88 + 64);
  EXPECT_EQ(Limiter::bytes(~std::size_t{0}), Limiter::bytes(std::size_t{1} << 28));
}

// Beside every answer the plain list of what was admitted.
RC_GTEST_PROP(LimiterProperty, NeverTooManyAndHardlyTooFew, ()) {
  const auto window = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(1, 50), rc::gen::element<std::uint64_t>(1000, 60'000, 59'999));
  const auto limit = *rc::gen::inRange<std::uint32_t>(1, 20);
  const auto keys = *rc::gen::inRange<std::uint64_t>(1, 8);  // no more than a set has places
  Table table(8);
  std::map<std::uint64_t, std::vector<std::uint64_t>> admitted;
  std::uint64_t now = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const auto steps = *rc::gen::container<std::vector<std::pair<std::uint64_t, std::uint64_t>>>(
      400, rc::gen::pair(rc::gen::inRange<std::uint64_t>(0, keys),
                         rc::gen::oneOf(rc::gen::just<std::uint64_t>(0), rc::gen::inRange<std::uint64_t>(0, window / limit + 2),
                                        rc::gen::inRange<std::uint64_t>(0, window + 2))));
  for (const auto& [key, wait] : steps) {
    now += wait;
    std::vector<std::uint64_t>& times = admitted[key];
    const auto since = [&](std::uint64_t back) {  // events in (now - back, now]
      return static_cast<std::uint32_t>(std::count_if(times.begin(), times.end(), [&](std::uint64_t at) { return at + back > now; }));
    };
    if (table->admit(key, limit, window, now)) {
      RC_ASSERT(since(window) < limit);
      times.push_back(now);
      if (*rc::gen::inRange(0, 6) == 0) {
        table->refund(key, window, now);
        times.pop_back();
      }
    } else {
      RC_ASSERT(since(window + window / 15 + 1) >= limit);
    }
  }
}

// Clocks that differ and keys that push each other out lose counts of keys, never the bound on memory; a key that stays is exact.
RC_GTEST_PROP(LimiterProperty, WorkersWithDifferentClocks, ()) {
  const std::uint64_t window = 1000;
  const std::uint32_t limit = 5;
  Table table(8);
  std::vector<std::uint64_t> times;
  std::uint64_t now = 10'000;
  for (int i = 0; i < 300; ++i) {
    now += *rc::gen::inRange<std::uint64_t>(0, 200);
    const std::uint64_t told = now - *rc::gen::inRange<std::uint64_t>(0, 50);
    if (!table->admit(1, limit, window, told)) continue;
    RC_ASSERT(std::count_if(times.begin(), times.end(), [&](std::uint64_t at) { return at + window > now; }) < limit);
    times.push_back(told);
  }
}

}  // namespace
}  // namespace fairway::test
