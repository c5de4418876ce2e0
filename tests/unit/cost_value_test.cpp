#include "core/cost_value.h"

#include <gtest/gtest.h>

namespace fairway {
namespace {

TEST(CostValue, UnitsAndFractions) {
  EXPECT_EQ(parse_cost("1ns"), 1);
  EXPECT_EQ(parse_cost("250us"), 250'000);
  EXPECT_EQ(parse_cost("12ms"), 12'000'000);
  EXPECT_EQ(parse_cost("1.5ms"), 1'500'000);
  EXPECT_EQ(parse_cost("0.25s"), 250'000'000);
  EXPECT_EQ(parse_cost("60s"), 60'000'000'000);
  EXPECT_EQ(parse_cost("60000000000ns"), 60'000'000'000);
  EXPECT_EQ(parse_cost(" 3 ms\t"), 3'000'000);
  EXPECT_EQ(parse_cost("0.0000000019s"), 1);  // what is below 1 ns is cut
}

TEST(CostValue, EverythingElseIsIgnored) {
  for (const char* text :
       {"",      " ",   "0ms", "0.0s",  "0.0000000001s", "-1ms", "+1ms",          "1",   "ms",      "1min",
        "1m",    "1MS", ".5s", "5.s",   "1.2.3s",        "1,5s", "60.000000001s", "61s", "60001ms", "99999999999999999999999s",
        "1e3ms", "nan", "inf", "1 0ms", "1ms;",          "0x1ms"}) {
    EXPECT_EQ(parse_cost(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fairway
