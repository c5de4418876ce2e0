// The simulated room against what can be computed by hand, and what must hold whatever happens.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/room_sim.h"

namespace fairway::sim {
namespace {

constexpr Micros kSecond = 1'000'000;

// Everybody asks each second, so that what is computed is met within one a round.
RoomPlan plan_of(std::uint32_t capacity, std::uint64_t visitors, Micros over) {
  RoomPlan plan;
  plan.settings.capacity = capacity;
  plan.settings.poll_min = plan.settings.poll_max = kSecond;
  plan.visitors = visitors;
  plan.over = over;
  plan.arrivals = Arrivals::constant;
  plan.sign_out = 1;
  return plan;
}

double seconds(double micros) {
  return micros / 1e6;
}

TEST(RoomSimulation, NobodyWaitsWhileThereIsRoom) {
  RoomPlan plan = plan_of(100, 1000, 10'000 * kSecond);
  plan.stay = {Shape::fixed, 900 * kSecond};
  const RoomReport report = simulate_room(plan);
  EXPECT_EQ(report.direct, 1000u);
  EXPECT_EQ(report.waits.longest(), 0);
  EXPECT_EQ(report.most_inside, 90u) << "one each 10 s that stays 900 s";
  EXPECT_EQ(report.called, 0u);
  EXPECT_EQ(report.outcomes.stayed, 1000u);
}

// D/D/c: c servers, one customer a second, S s each. Customer k begins at (k mod c) + (k / c) S, when S > c.
TEST(RoomSimulation, ConstantArrivalsAndStaysWaitAsComputed) {
  constexpr int c = 50, n = 400, stay = 120;
  RoomPlan plan = plan_of(c, n, n * kSecond);
  plan.stay = {Shape::fixed, stay * kSecond};
  const RoomReport report = simulate_room(plan);
  std::vector<double> exact;
  for (int k = 0; k < n; ++k) {
    const int begins = k % c + k / c * stay;
    exact.push_back(begins - k);
  }
  std::sort(exact.begin(), exact.end());
  constexpr int rounds = n / c - 1;
  EXPECT_EQ(report.direct, std::uint64_t{c});
  EXPECT_EQ(report.waits.count(), std::uint64_t{n});
  EXPECT_GE(seconds(static_cast<double>(report.waits.longest())), exact.back());
  EXPECT_LE(seconds(static_cast<double>(report.waits.longest())), exact.back() + rounds);
  for (const double share : {0.25, 0.5, 0.75, 0.9}) {
    const double wait = exact[static_cast<std::size_t>(share * n) - 1];
    EXPECT_GE(seconds(report.waits.quantile(share)), wait * 0.97 - 0.1) << share;
    EXPECT_LE(seconds(report.waits.quantile(share)), (wait + rounds) * 1.03) << share;
  }
  EXPECT_EQ(report.most_inside, std::uint32_t{c});
}

TEST(RoomSimulation, TheRateAloneDecidesInALargeRoom) {
  RoomPlan plan = plan_of(100'000, 1000, kSecond);
  plan.settings.rate = 2;
  plan.settings.rate_window = kSecond;
  const RoomReport report = simulate_room(plan);
  const double longest = seconds(static_cast<double>(report.waits.longest()));
  EXPECT_GE(longest, 498) << "two a second";
  EXPECT_LE(longest, 503);
  EXPECT_NEAR(seconds(report.waits.quantile(0.5)), 250, 10);
  EXPECT_LE(report.admissions.most(), 4) << "two in any second, also in those on either side of a look";
}

TEST(RoomSimulation, ASlotIsHeldUntilTheSessionRunsOut) {
  RoomPlan plan = plan_of(1, 2, kSecond);
  plan.sign_out = 0;
  plan.stay = {Shape::fixed, 60 * kSecond};
  plan.click = 100'000 * kSecond;  // nothing is asked for after the first page
  const RoomReport report = simulate_room(plan);
  EXPECT_NEAR(seconds(static_cast<double>(report.waits.longest())), 600, 3) << "session_timeout";
}

// Nobody leaves, so nobody is called in vain, also of those who let their session run out and come back.
TEST(RoomSimulation, WhoIsThereIsNeverPassedOver) {
  RoomPlan plan = plan_of(20, 500, 300 * kSecond);
  plan.settings.session_timeout = 60 * kSecond;
  plan.settings.poll_min = 3 * kSecond;
  plan.settings.poll_max = 30 * kSecond;
  const RoomReport report = simulate_room(plan);
  EXPECT_GT(report.sent_back, 50u);
  EXPECT_EQ(report.wasted, 0u);
  EXPECT_EQ(report.passed_over, 0u);
  EXPECT_EQ(report.outcomes.stayed + report.outcomes.cut_short, 500u);
}

TEST(RoomSimulation, SettingsChangeOnTheWay) {
  RoomPlan plan = plan_of(10, 200, 200 * kSecond);
  plan.settings.mode = room::Mode::hold;
  plan.stay = {Shape::fixed, 10 * kSecond};
  room::Settings open = plan.settings;
  open.mode = room::Mode::normal;
  open.capacity = 1000;
  plan.changes = {{500 * kSecond, open}};
  const RoomReport report = simulate_room(plan);
  EXPECT_EQ(report.direct, 0u);
  EXPECT_EQ(report.most_waiting, 200u);
  EXPECT_EQ(report.most_inside, 200u) << "the line was let in as one";
  EXPECT_NEAR(seconds(static_cast<double>(report.waits.longest())), 500, 2);
}

TEST(RoomSimulation, AFullLineIsBusyAndThePatientComeInAllTheSame) {
  RoomPlan plan = plan_of(5, 100, 10 * kSecond);
  plan.settings.max_waiting = 10;
  plan.stay = {Shape::fixed, 30 * kSecond};
  const RoomReport report = simulate_room(plan);
  EXPECT_EQ(report.outcomes.stayed, 100u);
  EXPECT_GT(report.busy, 80u);
  EXPECT_LE(report.most_waiting, 10u);
}

TEST(RoomSimulation, ARunThatWouldNotEndIsEnded) {
  RoomPlan plan = plan_of(0, 10, 10 * kSecond);
  plan.longest = 100 * kSecond;
  const RoomReport report = simulate_room(plan);
  EXPECT_EQ(report.length, 100 * kSecond);
  EXPECT_EQ(report.outcomes.still_waiting, 10u);
}

TEST(RoomSimulation, BotsAreHeldToTheirLimits) {
  RoomPlan plan = plan_of(50, 500, 600 * kSecond);
  plan.settings.poll_min = 3 * kSecond;
  plan.settings.poll_max = 30 * kSecond;
  plan.stay = {Shape::exponential, 60 * kSecond};
  plan.bots = {.count = 3, .sessions = 100, .polls = 10};
  const RoomReport report = simulate_room(plan);
  EXPECT_LE(report.bot_sessions, 3u * 60 * 11) << "60 a minute of each address";
  EXPECT_GT(report.bot_entries_refused, 0u);
  EXPECT_GT(report.bot_polls_refused, report.bot_sessions) << "most of ten questions a second are too many";
  EXPECT_GT(report.bots_let_in, 0u);
  EXPECT_EQ(report.outcomes.stayed, 500u);
  EXPECT_EQ(report.passed_over, 0u);
}

RoomPlan any_plan() {
  RoomPlan plan;
  plan.settings.capacity = *rc::gen::inRange<std::uint32_t>(1, 60);
  plan.settings.rate = *rc::gen::element(0U, 0U, 1U, 5U);
  plan.settings.rate_window = plan.settings.rate == 0 ? 0 : *rc::gen::element(Micros{kSecond}, Micros{60 * kSecond});
  plan.settings.session_timeout = *rc::gen::inRange<Micros>(30, 300) * kSecond;
  plan.settings.session_max = *rc::gen::element(Micros{0}, Micros{0}, Micros{400 * kSecond});
  plan.settings.max_waiting = *rc::gen::element(5U, 1000U);
  plan.visitors = *rc::gen::inRange<std::uint64_t>(1, 400);
  plan.over = *rc::gen::inRange<Micros>(1, 600) * kSecond;
  plan.arrivals = *rc::gen::element(Arrivals::constant, Arrivals::poisson, Arrivals::burst, Arrivals::heavy);
  const auto shape = rc::gen::element(Shape::fixed, Shape::uniform, Shape::exponential, Shape::heavy);
  plan.stay = {*shape, *rc::gen::inRange<Micros>(5, 200) * kSecond};
  plan.patience = {*shape, *rc::gen::inRange<Micros>(5, 600) * kSecond};
  plan.silent = *rc::gen::element(0.0, 0.2, 0.5);
  plan.polite = *rc::gen::element(0.0, 0.3, 0.5);
  plan.hidden = *rc::gen::element(0.0, 0.3);
  plan.sign_out = *rc::gen::element(0.0, 0.5, 1.0);
  plan.bots.count = *rc::gen::element(0U, 0U, 0U, 1U);
  plan.bots.sessions = 3;
  plan.bots.polls = 2;
  plan.seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  return plan;
}

RC_GTEST_PROP(RoomSimulationProperty, EverybodyEndsOnceAndNobodyIsOneTooMany, ()) {
  const RoomPlan plan = any_plan();
  const RoomReport report = simulate_room(plan);
  const Outcomes& o = report.outcomes;
  RC_ASSERT(report.arrived == plan.visitors);
  RC_ASSERT(o.sum() == plan.visitors);
  RC_ASSERT(o.still_inside + o.still_waiting + o.still_outside == 0u);
  RC_ASSERT(report.most_inside <= plan.settings.capacity);
  if (report.sent_back + report.bots_sent_back + report.passed_over == 0) {  // else with a number into a full line, or too late for it
    RC_ASSERT(report.most_waiting <= plan.settings.max_waiting);
    RC_ASSERT(report.lost_places == 0u);
  }
  RC_ASSERT(report.waits.count() >= o.stayed);
  RC_ASSERT(report.wasted <= report.called);
  RC_ASSERT(report.no_memory == 0u);
}

RC_GTEST_PROP(RoomSimulationProperty, TheSameSeedIsTheSameRun, ()) {
  const RoomPlan plan = any_plan();
  const RoomReport one = simulate_room(plan), other = simulate_room(plan);
  RC_ASSERT(one.store_calls == other.store_calls);
  RC_ASSERT(one.length == other.length);
  RC_ASSERT(one.waits.longest() == other.waits.longest());
  RC_ASSERT(one.waits.mean() == other.waits.mean());
  RC_ASSERT(one.estimates.counts == other.estimates.counts);
  RC_ASSERT(one.waiting.points() == other.waiting.points());
}

}  // namespace
}  // namespace fairway::sim
