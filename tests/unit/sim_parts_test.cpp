// What simulations are made of: time, chance, counts.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/client_table.h"
#include "sim/crowd.h"
#include "sim/histogram.h"
#include "sim/series.h"
#include "sim/start_order.h"
#include "sim/timeline.h"

namespace fairway::sim {
namespace {

constexpr Micros kSecond = 1'000'000;

TEST(SimHistogram, QuantilesAreNear) {
  Histogram histogram;
  for (int i = 1; i <= 100'000; ++i) histogram.add(i * Micros{10'000});
  EXPECT_NEAR(histogram.quantile(0.5), 500 * 1e6, 500 * 1e6 * 0.04);
  EXPECT_NEAR(histogram.quantile(0.99), 990 * 1e6, 990 * 1e6 * 0.04);
  EXPECT_NEAR(histogram.share_until(250 * kSecond), 0.25, 0.01);
  EXPECT_EQ(histogram.longest(), 1000 * kSecond);
  EXPECT_EQ(histogram.count(), 100'000u);
}

TEST(SimHistogram, NothingIsExact) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0);
  for (int i = 0; i < 9; ++i) histogram.add(0);
  histogram.add(80 * kSecond);
  EXPECT_EQ(histogram.quantile(0.9), 0);
  EXPECT_EQ(histogram.share_until(0), 0.9);
  EXPECT_NEAR(histogram.quantile(0.95), 80 * 1e6, 80 * 1e6 * 0.04);
}

RC_GTEST_PROP(SimHistogramProperty, OneValueIsFoundWithinThreePercent, ()) {
  const auto value = *rc::gen::inRange<Micros>(16'000, 10'000'000 * kSecond);
  Histogram histogram;
  histogram.add(value);
  histogram.add(2 * value);
  RC_ASSERT(std::abs(histogram.quantile(0.5) / static_cast<double>(value) - 1) < 0.04);
}

std::vector<Micros> times_of(Arrivals kind, std::uint64_t count, Micros over, std::uint64_t seed = 1) {
  ArrivalTimes arrivals(kind, count, over, seed);
  std::vector<Micros> times;
  while (const auto time = arrivals.next()) times.push_back(*time);
  return times;
}

TEST(ArrivalTimes, AllComeInOrder) {
  for (const Arrivals kind : {Arrivals::constant, Arrivals::poisson, Arrivals::burst, Arrivals::heavy}) {
    const auto times = times_of(kind, 5000, 3600 * kSecond);
    EXPECT_EQ(times.size(), 5000u);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    EXPECT_GE(times.front(), 0);
    if (kind != Arrivals::heavy) {
      EXPECT_LE(times.back(), 3600 * kSecond);
    }
  }
}

TEST(ArrivalTimes, AsTheyWereAskedFor) {
  const auto until = [](const std::vector<Micros>& times, Micros end) {
    return std::count_if(times.begin(), times.end(), [end](Micros time) { return time < end; });
  };
  EXPECT_EQ(times_of(Arrivals::constant, 3600, 3600 * kSecond)[1000], 1000 * kSecond);
  EXPECT_NEAR(static_cast<double>(until(times_of(Arrivals::poisson, 10'000, 3600 * kSecond), 900 * kSecond)), 2500, 150);
  EXPECT_NEAR(static_cast<double>(until(times_of(Arrivals::burst, 10'000, 3600 * kSecond), 60 * kSecond)), 5000, 200);
  EXPECT_NE(times_of(Arrivals::poisson, 10, kSecond, 1), times_of(Arrivals::poisson, 10, kSecond, 2));
}

TEST(Duration, MeansAreWhatWasAsked) {
  Random random(1);
  for (const Shape shape : {Shape::fixed, Shape::uniform, Shape::exponential, Shape::heavy}) {
    const Duration duration{shape, 100 * kSecond};
    double sum = 0;
    for (int i = 0; i < 200'000; ++i) sum += static_cast<double>(duration.draw(random));
    EXPECT_NEAR(sum / 200'000, 100 * 1e6, shape == Shape::heavy ? 12e6 : 1e6) << int(shape);
  }
  EXPECT_EQ((Duration{Shape::fixed, 7}.draw(random)), 7);
}

RC_GTEST_PROP(TimelineProperty, GivesEverythingInOrder, ()) {
  Timeline timeline;
  std::vector<Micros> put, taken;
  Micros now = 0;
  const auto add = [&](Micros at) {
    put.push_back(at);
    timeline.put(at, static_cast<std::uint32_t>(put.size()));
  };
  const auto steps = *rc::gen::container<std::vector<Micros>>(rc::gen::inRange<Micros>(0, 2000 * kSecond));
  for (const Micros step : steps) {
    add(now + step);
    if (step % 3 == 0) add(now + step % 1000);
    if (step % 2 != 0) continue;
    if (const auto event = timeline.take(now + step)) {
      RC_ASSERT(event->at >= now);
      RC_ASSERT(event->at < now + step);
      now = event->at;
      taken.push_back(now);
    }
  }
  while (const auto event = timeline.take(std::numeric_limits<Micros>::max())) taken.push_back(event->at);
  RC_ASSERT(timeline.empty());
  RC_ASSERT(std::is_sorted(taken.begin(), taken.end()));
  std::sort(put.begin(), put.end());
  RC_ASSERT(put == taken);
}

TEST(Series, HalvesWhenItIsFull) {
  Series series;
  for (int i = 0; i < 2000; ++i) series.add(i);
  EXPECT_EQ(series.seconds(), 4u);
  ASSERT_EQ(series.points().size(), 500u);
  EXPECT_DOUBLE_EQ(series.points()[10], 41.5);
  EXPECT_EQ(series.most(), 1999);
  EXPECT_DOUBLE_EQ(series.mean(), 999.5);
}

ClientKey client(std::uint64_t n) {
  return {{}, n};
}

TEST(ClientTable, KeepsThoseThatCostMost) {
  ClientTable table(10);
  for (std::uint64_t round = 0; round < 100; ++round) {
    table.note(client(1), 5);
    table.note(client(2), 3);
    for (std::uint64_t i = 0; i < 20; ++i) table.note(client(1000 + round * 20 + i), 0.01);
  }
  EXPECT_EQ(table.records().size(), 10u);
  EXPECT_GT(table.forgotten(), 1000u);
  for (const ClientRecord& record : table.records()) {
    if (record.key.session == 1) {
      EXPECT_DOUBLE_EQ(record.surely(), 500);
    }
    EXPECT_LE(record.surely(), record.cost);
    EXPECT_TRUE(record.key.session < 3 || record.surely() < 1) << record.key.session;
  }
}

TEST(ClientTable, FatesOfTheForgottenAreKept) {
  ClientTable table(1);
  const auto first = table.note(client(1), 1);
  table.fate(first, 1).waits.add(5 * kSecond);
  const auto second = table.note(client(2), 1);
  table.fate(first, 1).waits.add(6 * kSecond);
  ++table.fate(second, 0).refused;
  EXPECT_EQ(table.others()[1].waits.count(), 2u);
  EXPECT_EQ(table.records()[0].fates[0].refused, 1u);
  EXPECT_EQ(table.records()[0].fates[1].waits.count(), 0u);
}

TEST(StartOrder, PutsRequestsInTheOrderOfTheirStarts) {
  std::vector<Nanos> starts, services;
  StartOrder order([&](const PastRequest& request) {
    starts.push_back(request.start);
    services.push_back(request.service);
  });
  constexpr Nanos s = queue::kSecond;
  order.add({100, 1 * s, {0, 1, {}}});
  order.add({101, 20 * s, {0, 2, {}}});
  order.add({101, 0, {0, 3, {}}});
  order.add({102, 1 * s, {0, 4, {}}});
  order.finish();
  EXPECT_EQ(services, (std::vector<Nanos>{2, 1, 4, 3})) << "an earlier start may end later";
  EXPECT_EQ(starts, (std::vector<Nanos>{81 * s + s / 4, 99 * s + s / 2, 101 * s + s / 2, 101 * s + s / 4 * 3}))
      << "those of one second ended evenly over it";
}

}  // namespace
}  // namespace fairway::sim
