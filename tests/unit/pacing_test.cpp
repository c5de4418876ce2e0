#include "core/pacing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace fairway::test {
namespace {

constexpr Micros kSecond = 1'000'000;
constexpr Micros kNever = std::numeric_limits<Micros>::max();

TEST(Pacing, IntervalGrowsWithTheRank) {
  EXPECT_EQ(poll_interval(0, 3 * kSecond, 30 * kSecond), 3 * kSecond);
  EXPECT_EQ(poll_interval(1, 3 * kSecond, 30 * kSecond), 3 * kSecond);
  EXPECT_EQ(poll_interval(50, 3 * kSecond, 30 * kSecond), 3 * kSecond);
  EXPECT_EQ(poll_interval(51, 3 * kSecond, 30 * kSecond), 3'060'000);
  EXPECT_EQ(poll_interval(100, 3 * kSecond, 30 * kSecond), 6 * kSecond);
  EXPECT_EQ(poll_interval(499, 3 * kSecond, 30 * kSecond), 29'940'000);
  EXPECT_EQ(poll_interval(500, 3 * kSecond, 30 * kSecond), 30 * kSecond);
  EXPECT_EQ(poll_interval(~std::uint64_t{0}, 3 * kSecond, 30 * kSecond), 30 * kSecond);
  EXPECT_EQ(poll_interval(75, kSecond, kSecond), kSecond);
}

RC_GTEST_PROP(PacingProperty, IntervalIsBoundedAndNeverFalls, ()) {
  const auto min = *rc::gen::inRange<Micros>(1, 3600 * kSecond);
  const auto max = *rc::gen::inRange<Micros>(min, 7200 * kSecond);
  const auto rank = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 2000), rc::gen::arbitrary<std::uint64_t>());
  const Micros interval = poll_interval(rank, min, max);
  RC_ASSERT(interval >= min);
  RC_ASSERT(interval <= max);
  if (rank != std::numeric_limits<std::uint64_t>::max()) RC_ASSERT(poll_interval(rank + 1, min, max) >= interval);
}

TEST(Pacing, JitterIsATenthAtMost) {
  EXPECT_EQ(jittered_seconds(30 * kSecond, 0), 27u);
  EXPECT_EQ(jittered_seconds(30 * kSecond, ~std::uint64_t{0}), 33u);
  EXPECT_EQ(jittered_seconds(30 * kSecond, std::uint64_t{1} << 63), 30u);
  EXPECT_EQ(jittered_seconds(3 * kSecond, ~std::uint64_t{0}), 3u);
  EXPECT_EQ(jittered_seconds(1, 0), 1u);
  EXPECT_EQ(jittered_seconds(0, 0), 1u);
  EXPECT_EQ(jittered_seconds(kNever, ~std::uint64_t{0}), 4'294'967'295u);
}

RC_GTEST_PROP(PacingProperty, JitterStaysNear, (std::uint64_t random)) {
  const auto seconds = *rc::gen::inRange<std::uint32_t>(1, 100);
  const double told = jittered_seconds(seconds * kSecond, random);
  RC_ASSERT(told >= 0.9 * seconds - 0.5);
  RC_ASSERT(told <= 1.1 * seconds + 0.5);
}

// A room with a line in which `rate` are admitted and `leave` give up each second.
class Line {
 public:
  void run(int seconds, unsigned rate, unsigned leave = 0, std::uint32_t people = 1000) {
    for (int i = 0; i < seconds; ++i) {
      now_ += kSecond;
      admitted_ += rate;
      abandoned_ += leave;
      estimate.sample(now_, admitted_, abandoned_, people);
    }
  }
  void pause(int seconds) { now_ += seconds * kSecond; }
  Micros now() const { return now_; }
  void new_epoch() { admitted_ = abandoned_ = 0; }

  RateEstimator estimate;

 private:
  Micros now_ = 1'700'000'000 * kSecond;
  std::uint64_t admitted_ = 500;
  std::uint64_t abandoned_ = 100;
};

TEST(RateEstimator, KnowsNothingBeforeAnAdmission) {
  Line line;
  EXPECT_EQ(line.estimate.wait(10, 0), std::nullopt);
  line.run(1, 5);
  EXPECT_EQ(line.estimate.wait(10, 0), std::nullopt) << "one sample is no rate";
  line.run(20, 0);
  EXPECT_EQ(line.estimate.wait(10, 5), std::nullopt);
  EXPECT_EQ(line.estimate.per_second(), 0);
}

TEST(RateEstimator, DividesRankByRate) {
  Line line;
  line.run(30, 5);
  EXPECT_NEAR(line.estimate.per_second(), 5, 1e-9);
  EXPECT_EQ(line.estimate.wait(100, 0), 20u);
  EXPECT_EQ(line.estimate.wait(1, 0), 1u);
  EXPECT_EQ(line.estimate.wait(0, 0), std::nullopt) << "no rank told, no wait";
}

TEST(RateEstimator, ConfiguredRateCaps) {
  Line line;
  line.run(30, 5);
  EXPECT_EQ(line.estimate.wait(100, 2), 50u);
  EXPECT_EQ(line.estimate.wait(100, 8), 20u);
}

TEST(RateEstimator, LeaversShortenTheWaitOfThoseFarBehind) {
  Line line;
  line.run(120, 5, 5, 1000);
  // ahead' = -5 - ahead * 5/1000
  EXPECT_EQ(line.estimate.wait(1000, 0), 139u);  // 200 ln 2
  EXPECT_EQ(line.estimate.wait(100, 0), 19u);    // 200 ln 1.1
  RateEstimator unknown = line.estimate;
  unknown.waiting = RateEstimator::kUnknown;
  EXPECT_EQ(unknown.wait(100, 0), 14u);  // all leavers were ahead: 20 ln 2
}

TEST(RateEstimator, FoldsQuickSamples) {
  RateEstimator one;
  RateEstimator other;
  for (int i = 0; i <= 600; ++i) {
    one.sample(kSecond + i * kSecond / 10, static_cast<std::uint64_t>(i), 0, 50);
    if (i % 10 == 0) other.sample(kSecond + i * kSecond / 10, static_cast<std::uint64_t>(i), 0, 50);
  }
  EXPECT_EQ(one.wait(100, 0), 10u);
  EXPECT_EQ(one.per_second(), other.per_second());
}

TEST(RateEstimator, TimesWithoutALineDoNotCount) {
  Line line;
  line.run(60, 20, 0, 0);
  EXPECT_EQ(line.estimate.wait(10, 0), std::nullopt) << "visitors that found room say nothing of how fast a line moves";
  line.run(61, 2);
  EXPECT_EQ(line.estimate.wait(100, 0), 50u);
  line.run(300, 30, 0, 0);
  line.run(1, 2);
  EXPECT_EQ(line.estimate.wait(100, 0), 50u);
}

TEST(RateEstimator, NewEpochAndLongSilenceRestart) {
  Line line;
  line.run(60, 5);
  line.new_epoch();
  line.run(1, 0);
  EXPECT_EQ(line.estimate.wait(10, 0), std::nullopt);
  line.run(60, 5);
  EXPECT_EQ(line.estimate.wait(100, 0), 20u);
  line.pause(601);
  line.run(1, 0);
  EXPECT_EQ(line.estimate.wait(10, 0), std::nullopt);
  line.run(30, 5);
  line.run(700, 1, 0, 0);
  EXPECT_EQ(line.estimate.wait(10, 0), std::nullopt);
}

TEST(RateEstimator, ALineThatStandsStillIsNotEstimated) {
  Line line;
  line.run(200, 5);
  line.run(60, 0);
  EXPECT_NE(line.estimate.wait(1, 0), std::nullopt);
  line.run(61, 0);
  EXPECT_EQ(line.estimate.wait(1, 0), std::nullopt);
  line.run(1, 5);
  EXPECT_NE(line.estimate.wait(1, 0), std::nullopt);
}

TEST(RateEstimator, ASlowLineIsNotTakenForOneThatStands) {
  Line line;
  for (int i = 0; i < 20; ++i) {
    line.run(1, 1);
    line.run(179, 0);
  }
  EXPECT_NE(line.estimate.wait(1, 0), std::nullopt);
  EXPECT_NEAR(line.estimate.per_second(), 1.0 / 180, 0.2 / 180);
}

// A room with a clump of admissions every `beat` seconds.
TEST(RateEstimator, KeepsTheBeatOfARoomThatAdmitsInClumps) {
  Line line;
  for (int beat = 0; beat < 5; ++beat) {
    line.run(1, 120);
    line.run(59, 0);
  }
  line.run(1, 120);
  EXPECT_EQ(line.estimate.wait(1, 0), 60u) << "the next clump";
  EXPECT_EQ(line.estimate.wait(120, 0), 60u);
  EXPECT_EQ(line.estimate.wait(121, 0), 120u) << "the one after it";
  line.run(45, 0);
  EXPECT_EQ(line.estimate.wait(120, 0), 15u);
  EXPECT_EQ(line.estimate.wait(600, 0), 255u);
  line.run(14, 0);
  line.run(20, 0);
  ASSERT_NE(line.estimate.wait(120, 0), std::nullopt) << "a clump is missing: no beat any more";
  EXPECT_GT(*line.estimate.wait(120, 0), 30u);
}

TEST(RateEstimator, UnevenClumpsHaveNoBeat) {
  Line line;
  for (const int quiet : {10, 70, 20, 90, 15, 60, 30, 80}) {
    line.run(1, 50);
    line.run(quiet, 0);
  }
  EXPECT_EQ(line.estimate.beat.into(line.now()), std::nullopt);
  Line steady;
  steady.run(300, 2);
  EXPECT_EQ(steady.estimate.beat.into(steady.now()), std::nullopt);
}

TEST(RateEstimator, MoreThanADayIsNotTold) {
  Line line;
  line.run(60, 1);
  EXPECT_EQ(line.estimate.wait(86'400, 0), 86'400u);
  EXPECT_EQ(line.estimate.wait(86'500, 0), std::nullopt);
  EXPECT_EQ(line.estimate.wait(~std::uint64_t{0}, 0), std::nullopt);
}

RC_GTEST_PROP(RateEstimatorProperty, AnyHistoryGivesASaneFigure, ()) {
  RateEstimator estimate;
  for (int i = 0; i < 50; ++i) {
    estimate.sample(*rc::gen::arbitrary<std::uint32_t>() * kSecond / 1000, *rc::gen::arbitrary<std::uint32_t>(),
                    *rc::gen::arbitrary<std::uint32_t>(), *rc::gen::element<std::uint32_t>(0, 1, 500, RateEstimator::kUnknown));
    RC_ASSERT(estimate.per_second() >= 0);
    const auto wait = estimate.wait(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::element(0.0, 0.5, 100.0));
    if (wait.has_value()) {
      RC_ASSERT(*wait >= 1u);
      RC_ASSERT(*wait <= 86'400u);
    }
  }
}

}  // namespace
}  // namespace fairway::test
