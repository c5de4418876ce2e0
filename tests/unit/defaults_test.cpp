// What holds where a configuration says nothing: the defaults of the directives, as documented.
#include <gtest/gtest.h>

#include "core/queue_types.h"
#include "core/room.h"

namespace fairway {
namespace {

TEST(Defaults, OfARoom) {
  constexpr Micros second = 1'000'000;
  const room::Settings room;
  EXPECT_EQ(room.rate, 0U);
  EXPECT_EQ(room.rate_window, 0);
  EXPECT_EQ(room.session_timeout, 600 * second);
  EXPECT_EQ(room.session_max, 0);
  EXPECT_EQ(room.grant_timeout, 30 * second);
  EXPECT_EQ(room.abandon_timeout, 60 * second);
  EXPECT_EQ(room.return_grace, 600 * second);
  EXPECT_EQ(room.max_waiting, 100'000U);
  EXPECT_EQ(room.poll_min, 3 * second);
  EXPECT_EQ(room.poll_max, 30 * second);
}

TEST(Defaults, OfAFairQueue) {
  const queue::Limits limits;
  EXPECT_EQ(limits.size, 256U);
  EXPECT_EQ(limits.order, queue::Order::fair);
  EXPECT_TRUE(limits.probation);
  EXPECT_EQ(limits.timeout, 10 * queue::kSecond);
  EXPECT_EQ(limits.burst, 20 * queue::kMillisecond);
  EXPECT_EQ(limits.max_debt, 5 * queue::kSecond);
  EXPECT_EQ(limits.debt_ttl, 30 * queue::kSecond);
  const queue::Capacity capacity;
  EXPECT_EQ(capacity.outer_flows, 4096U);
  EXPECT_EQ(capacity.inner_flows, 16'384U);
}

}  // namespace
}  // namespace fairway
