#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "operate/network.h"
#include "operate/queue_settings.h"
#include "operate/room_settings.h"
#include "operate/values.h"

namespace fairway::operate {
namespace {

constexpr Micros kSecond = 1'000'000;

TEST(Durations, AreNginxs) {
  EXPECT_EQ(parse_duration("30"), 30 * kSecond);
  EXPECT_EQ(parse_duration("0"), 0);
  EXPECT_EQ(parse_duration("500ms"), 500'000);
  EXPECT_EQ(parse_duration("1h30m"), 5'400 * kSecond);
  EXPECT_EQ(parse_duration("1d 2h 3m 4s 5ms"), 93'784'005'000);
  EXPECT_EQ(parse_duration("2w"), 1'209'600 * kSecond);
  EXPECT_EQ(parse_duration("1m 5"), 65 * kSecond);
  EXPECT_EQ(parse_duration("365d"), kMaxDuration);
  EXPECT_EQ(parse_duration("007s"), 7 * kSecond);
}

TEST(Durations, RefuseTheRest) {
  for (const char* text : {"",
                           " ",
                           "s",
                           "-1",
                           "-1s",
                           "+1s",
                           "1y",
                           "1M",
                           "1S",
                           "1.5s",
                           "30m1h",
                           "1s1s",
                           "5 5",
                           "1s 2m",
                           "1x",
                           "ms",
                           "s5",
                           "366d",
                           "1 s",
                           "1s,",
                           "99999999999999999999",
                           "9223372036854775807s",
                           "365d1ms",
                           "10 minutes"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Durations, AreWrittenInTheLargestUnitThatFits) {
  EXPECT_EQ(duration_text(0), "0");
  EXPECT_EQ(duration_text(600 * kSecond), "10m");
  EXPECT_EQ(duration_text(90 * kSecond), "90s");
  EXPECT_EQ(duration_text(1'500'000), "1500ms");
  EXPECT_EQ(duration_text(86'400 * kSecond), "1d");
}

RC_GTEST_PROP(Durations, ReadBackAsWritten, ()) {
  const Micros time = *rc::gen::inRange<std::int64_t>(0, kMaxDuration / 1'000 + 1) * 1'000;
  RC_ASSERT(parse_duration(duration_text(time)) == time);
}

TEST(Networks, AreOfTwoLengths) {
  const auto v4 = parse_network("203.0.113.99/24");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->size, 3);
  EXPECT_EQ(v4->bytes[2], 113);
  const auto v6 = parse_network("2001:db8:1::/48");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->size, 6);
  EXPECT_EQ(v6->bytes[1], 0x01);
  EXPECT_EQ(v6->bytes[5], 0x01);
  for (const char* text :
       {"", "/24", "203.0.113.0", "203.0.113.0/25", "203.0.113/24", "256.0.0.0/24", "2001:db8::/64", "2001:db8::/24", "x:/48", "all"}) {
    EXPECT_FALSE(parse_network(text)) << text;
  }
}

// Every field, as it is by default, is something that may be written.
template <class Conf>
void expect_defaults_to_read_back(std::span<const Field<Conf>> fields, const Conf& conf) {
  for (const Field<Conf>& field : fields) {
    const std::string text = field.get(conf);
    std::vector<std::string_view> words;
    std::string_view rest = text;
    while (!rest.empty()) {
      words.push_back(rest.substr(0, rest.find(' ')));
      rest.remove_prefix(std::min(rest.size(), words.back().size() + 1));
    }
    Conf other = conf;
    EXPECT_TRUE(text.empty() || (field.set(other, words) && field.get(other) == text)) << field.name << " " << text;
  }
}

TEST(Fields, DefaultsReadBack) {
  expect_defaults_to_read_back(room_fields(), RoomSettings{});
  QueueSettings queue;
  queue.limits.concurrency = 16;
  ASSERT_FALSE(check_together(queue));
  EXPECT_EQ(queue.limits.light_lane, 2U);
  expect_defaults_to_read_back(queue_fields(), queue);
}

TEST(Fields, TheLaneFollowsConcurrencyUnlessSaid) {
  QueueSettings queue;
  queue.limits.concurrency = 64;
  queue.limits.light_lane = 1;
  ASSERT_FALSE(check_together(queue));
  EXPECT_EQ(queue.limits.light_lane, 8U);
  queue.lane_set = true;
  queue.limits.light_lane = 64;
  EXPECT_EQ(check_together(queue)->field, "light_lane");
}

TEST(Fields, ARunningQueueGrowsOnlyAsFarAsItsTables) {
  QueueSettings queue;
  queue.limits.concurrency = 1'024;
  EXPECT_FALSE(check_capacity(queue, {}));
  queue.limits.concurrency = 1'025;
  EXPECT_EQ(check_capacity(queue, {})->field, "concurrency");
  queue.limits = {.concurrency = 1, .size = 4'097};
  EXPECT_EQ(check_capacity(queue, {})->field, "size");
}

TEST(Modes, HaveNames) {
  for (const auto mode : {room::Mode::normal, room::Mode::hold, room::Mode::open, room::Mode::closed}) {
    EXPECT_EQ(parse_mode(mode_name(mode)), mode);
  }
  EXPECT_FALSE(parse_mode("Hold"));
  EXPECT_FALSE(parse_mode(""));
}

}  // namespace
}  // namespace fairway::operate
