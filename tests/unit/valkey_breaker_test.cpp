#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <new>
#include <vector>

#include "store/valkey/backoff.h"
#include "store/valkey/breaker.h"

namespace fairway::valkey {
namespace {

constexpr Micros kPause = 3'000'000;
constexpr Micros kPatience = 500'000;

TEST(ValkeyBreaker, OneFailureStopsAllCallsForThePauseThenOneProbes) {
  Breaker breaker;
  const auto permit = breaker.ask(1000, kPatience);
  ASSERT_TRUE(permit.allowed);
  EXPECT_EQ(permit.probe, 0);
  breaker.failed(permit, 2000, kPause);
  EXPECT_TRUE(breaker.open());
  EXPECT_EQ(breaker.outages(), 1U);
  EXPECT_FALSE(breaker.ask(2000, kPatience).allowed);
  EXPECT_FALSE(breaker.ask(2000 + kPause - 1, kPatience).allowed);
  const auto probe = breaker.ask(2000 + kPause, kPatience);
  ASSERT_TRUE(probe.allowed);
  EXPECT_NE(probe.probe, 0);
  EXPECT_FALSE(breaker.ask(2000 + kPause, kPatience).allowed) << "only one may probe";
  breaker.succeeded(probe);
  EXPECT_FALSE(breaker.open());
  EXPECT_TRUE(breaker.ask(2000 + kPause, kPatience).allowed);
}

TEST(ValkeyBreaker, AFailedProbeStartsAnotherPauseOfTheSameOutage) {
  Breaker breaker;
  breaker.failed(breaker.ask(0, kPatience), 0, kPause);
  const auto probe = breaker.ask(kPause, kPatience);
  breaker.failed(probe, kPause + 10, kPause);
  EXPECT_EQ(breaker.outages(), 1U);
  EXPECT_FALSE(breaker.ask(2 * kPause + 9, kPatience).allowed);
  EXPECT_TRUE(breaker.ask(2 * kPause + 10, kPatience).allowed);
}

TEST(ValkeyBreaker, TheRightToProbeLapsesWithItsHolder) {
  Breaker breaker;
  breaker.failed(breaker.ask(0, kPatience), 0, kPause);
  const auto dead = breaker.ask(kPause, kPatience);
  ASSERT_TRUE(dead.allowed);
  EXPECT_FALSE(breaker.ask(kPause + kPatience - 1, kPatience).allowed);
  const auto next = breaker.ask(kPause + kPatience, kPatience);
  ASSERT_TRUE(next.allowed);
  breaker.failed(dead, kPause + kPatience, kPause);  // not dead after all, but late
  breaker.succeeded(dead);
  EXPECT_TRUE(breaker.open());
  breaker.succeeded(next);
  EXPECT_FALSE(breaker.open());
}

TEST(ValkeyBreaker, OldCallsSayNothingAboutNow) {
  Breaker breaker;
  const auto slow = breaker.ask(0, kPatience);
  const auto quick = breaker.ask(0, kPatience);
  breaker.failed(quick, 100, kPause);
  breaker.succeeded(slow);
  EXPECT_TRUE(breaker.open()) << "an answer to a call from before the failure does not end the outage";
  breaker.succeeded(breaker.ask(100 + kPause, kPatience));
  breaker.failed(slow, 200 + kPause, kPause);
  EXPECT_FALSE(breaker.open()) << "a late failure of a call from before does not begin another";
  EXPECT_EQ(breaker.outages(), 1U);
}

TEST(ValkeyBreaker, ZeroedMemoryIsAClosedBreaker) {
  alignas(Breaker) unsigned char block[sizeof(Breaker)];
  std::memset(block, 0, sizeof block);
  auto* breaker = std::launder(reinterpret_cast<Breaker*>(block));
  EXPECT_FALSE(breaker->open());
  EXPECT_TRUE(breaker->ask(1, kPatience).allowed);
}

// Whatever callers do: during a pause nobody is allowed, and at any moment at most one holds a probe that has not lapsed.
RC_GTEST_PROP(ValkeyBreaker, NeverTwoProbesNeverACallInAPause, ()) {
  Breaker breaker;
  Micros now = 1;
  Micros paused_until = 0;
  struct Call {
    Breaker::Permit permit;
    Micros begun;
  };
  std::vector<Call> calls;
  Micros probing_until = 0;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1'000'000));
  for (const int step : steps) {
    now += (step / 8) % 2'000'000;
    if (step % 4 < 2 || calls.empty()) {
      const bool was_open = breaker.open();
      const auto permit = breaker.ask(now, kPatience);
      if (now < paused_until) RC_ASSERT(!permit.allowed);
      if (!was_open) RC_ASSERT(permit.allowed && permit.probe == 0);
      if (permit.probe != 0) {
        RC_ASSERT(now >= probing_until);
        probing_until = now + kPatience;
      }
      if (permit.allowed) calls.push_back({permit, now});
      continue;
    }
    const std::size_t which = static_cast<std::size_t>(step) % calls.size();
    const Call call = calls[which];
    calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(which));
    if (step % 4 == 2) {
      breaker.succeeded(call.permit);
      continue;
    }
    const bool refused = breaker.refuses(now + kPause - 1);
    breaker.failed(call.permit, now, kPause);
    if (!refused && breaker.refuses(now + kPause - 1)) paused_until = now + kPause;
  }
}

TEST(ValkeyBackoff, GrowsToItsMostAndStartsAnew) {
  Jitter jitter(7);
  Backoff backoff(100, 1000);
  Micros most = 100;
  for (int i = 0; i < 10; ++i) {
    const Micros delay = backoff.next(jitter);
    EXPECT_GE(delay, most / 2);
    EXPECT_LE(delay, most);
    most = std::min<Micros>(1000, most * 2);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(jitter), 100);
}

TEST(ValkeyBackoff, WorkersDiffer) {
  Jitter one(1), two(2);
  int equal = 0;
  for (int i = 0; i < 100; ++i) equal += one.between(0, 1'000'000) == two.between(0, 1'000'000);
  EXPECT_LT(equal, 3);
}

}  // namespace
}  // namespace fairway::valkey
