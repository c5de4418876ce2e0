#include "core/queue_histogram.h"

#include <gtest/gtest.h>

namespace fairway::queue {
namespace {

TEST(Histogram, BoundsGrowFourToTheOctave) {
  EXPECT_EQ(bucket_bound(0), 0);
  EXPECT_EQ(bucket_bound(1), kMillisecond);
  EXPECT_EQ(bucket_bound(5), 2 * kMillisecond);
  EXPECT_EQ(bucket_bound(41), 1024 * kMillisecond);
  for (std::size_t i = 1; i + 1 < kBuckets; ++i) EXPECT_GT(bucket_bound(i), bucket_bound(i - 1)) << i;
}

TEST(Histogram, CountsEachValueUnderItsBound) {
  for (const Nanos value : {Nanos{0}, Nanos{1}, kMillisecond, kMillisecond + 1, 37 * kMillisecond, kSecond, 10 * kSecond, 110 * kSecond}) {
    Histogram h;
    h.add(value);
    std::size_t at = 0;
    while (h.counts[at] == 0) ++at;
    EXPECT_LE(value, bucket_bound(at)) << value;
    EXPECT_TRUE(at == 0 || value > bucket_bound(at - 1)) << value;
    EXPECT_EQ(h.sum, value);
    EXPECT_EQ(h.count, 1U);
  }
  Histogram h;
  h.add(10'000 * kSecond);
  EXPECT_EQ(h.counts[kBuckets - 1], 1U);
  h.add(-5);
  EXPECT_EQ(h.counts[0], 1U);
}

TEST(Histogram, QuantilesAreOfTheLastMinutes) {
  RecentHistogram recent;
  Nanos now = 1000 * kSecond;
  EXPECT_EQ(recent.percentiles(now).p99, 0);
  for (int i = 0; i < 90; ++i) recent.add(0, now);
  for (int i = 0; i < 10; ++i) recent.add(kSecond, now);
  EXPECT_EQ(recent.percentiles(now).p50, 0);
  EXPECT_EQ(recent.percentiles(now).p90, 0);
  EXPECT_NEAR(static_cast<double>(recent.percentiles(now).p99), 1e9, 0.2e9);
  now += 61 * kSecond;
  recent.add(0, now);
  EXPECT_GT(recent.percentiles(now).p99, 0);  // still counts
  now += 61 * kSecond;
  recent.add(0, now);
  EXPECT_EQ(recent.percentiles(now).p99, 0);
  recent.add(kSecond, now);
  now += 121 * kSecond;
  EXPECT_EQ(recent.percentiles(now).p99, 0);
}

}  // namespace
}  // namespace fairway::queue
