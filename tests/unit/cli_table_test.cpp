#include <gtest/gtest.h>

#include <stdexcept>

#include "cli/sparkline.h"
#include "cli/table.h"

namespace fairway::cli {
namespace {

TEST(Printable, KeepsTextAndStopsCommandsToTheTerminal) {
  EXPECT_EQ(printable("Bald geöffnet, 待って 🎉"), "Bald geöffnet, 待って 🎉");
  EXPECT_EQ(printable("a\x1b[2Jb\nc\td\x7f"), "a?[2Jb?c?d?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m \xc2\xa0"),
            "?31m \xc2\xa0");  // CSI of C1; a blank is none
  EXPECT_EQ(printable("\xff\xc3"), "??");
  EXPECT_EQ(printable("\xc0\x9b\xe0\x80\x9b\xed\xa0\x80\xf4\x90\x80\x80"), "????????????");  // overlong, a surrogate, beyond the last
  EXPECT_EQ(printable(std::string_view("\0", 1)), "?");
  EXPECT_EQ(printable(""), "");
}

TEST(Width, CountsCharactersAndCutsBetweenThem) {
  EXPECT_EQ(width_of("▁▂x"), 3U);
  EXPECT_EQ(cut("▁▂x", 2), "▁▂");
  EXPECT_EQ(cut("▁▂x", 3), "▁▂x");
  EXPECT_EQ(cut("▁▂x", 9), "▁▂x");
  EXPECT_EQ(cut("▁", 0), "");
  EXPECT_EQ(pad_left("▁", 3), "  ▁");
  EXPECT_EQ(pad_right("▁▂▃", 2), "▁▂▃");
}

TEST(Table, LinesUp) {
  EXPECT_EQ(table({{"NAME"}, {"N", true}, {"REST"}}, {{"a", "1", "x y"}, {"öäü-long", "1000", ""}}),
            "NAME         N  REST\n"
            "a            1  x y\n"
            "öäü-long  1000\n");
  EXPECT_EQ(table({{"A"}, {"B"}}, {}), "A  B\n");
  EXPECT_EQ(table({{""}, {""}}, {{"key", "value"}, {"", ""}, {"k", "v"}}), "key  value\n\nk    v\n");
  EXPECT_THROW(table({{"A"}, {"B"}}, {{"only one"}}), std::out_of_range);
}

TEST(ReadableSeconds, HasAtMostTwoUnits) {
  const std::pair<double, const char*> cases[] = {
      {0, "0s"},         {-1, "0s"},     {0.000042, "42us"}, {0.0004, "400us"}, {0.0006, "1ms"}, {0.42, "420ms"},  {0.9994, "999ms"},
      {0.9996, "1s"},    {1.25, "1.3s"}, {9.94, "9.9s"},     {9.96, "10s"},     {59.4, "59s"},   {59.6, "1m"},     {65, "1m 5s"},
      {3599, "59m 59s"}, {3600, "1h"},   {3605, "1h"},       {3661, "1h 1m"},   {86400, "1d"},   {90000, "1d 1h"}, {8640000, "100d"},
  };
  for (const auto& [seconds, text] : cases) EXPECT_EQ(readable_seconds(seconds), text) << seconds;
}

TEST(ReadableNumber, HasOneDecimalWhenNeeded) {
  EXPECT_EQ(readable_number(0), "0");
  EXPECT_EQ(readable_number(12), "12");
  EXPECT_EQ(readable_number(1.26), "1.3");
  EXPECT_EQ(readable_number(0.96), "1");
  EXPECT_EQ(readable_number(1e12), "1000000000000");
}

TEST(Sparkline, FillsItsHeightWithTheHighestOfWhatIsShown) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({700, 0, 7}, 2), "▁█");
  EXPECT_EQ(sparkline({1, 1000}, 2), "▂█");  // something is not drawn as nothing
  EXPECT_EQ(sparkline({0, 0}, 2), "▁▁");
}

TEST(Sparkline, ShowsWhatIsMissingAsBlanks) {
  EXPECT_EQ(sparkline({5, std::nullopt, 0}, 3), "█ ▁");
  EXPECT_EQ(sparkline({5}, 3), "  █");
  EXPECT_EQ(sparkline({}, 2), "  ");
  EXPECT_EQ(sparkline({std::nullopt}, 1), " ");
  EXPECT_EQ(sparkline({5, 6}, 0), "");
}

}  // namespace
}  // namespace fairway::cli
