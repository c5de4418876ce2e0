#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "operate/fit.h"
#include "operate/settings_json.h"

namespace fairway::operate {
namespace {

std::optional<Problem> put(const char* name, const Json& value, const RoomSettings& file, Overrides& overrides, bool keep = false) {
  return take(*find_field(room_fields(), name), value, file, keep, overrides);
}

RoomSettings merged(RoomSettings file, const Overrides& overrides) {
  EXPECT_FALSE(apply(room_fields(), overrides, file));
  return file;
}

TEST(Merging, PutsOverridesOverTheFile) {
  RoomSettings file;
  file.settings.capacity = 10;
  file.message = "from the file";
  Overrides overrides;
  EXPECT_FALSE(put("capacity", 20, file, overrides));
  EXPECT_FALSE(put("rate", "5/m", file, overrides));
  EXPECT_FALSE(put("message", "", file, overrides));
  const RoomSettings now = merged(file, overrides);
  EXPECT_EQ(now.settings.capacity, 20U);
  EXPECT_EQ(now.settings.rate_window, 60'000'000);
  EXPECT_EQ(now.message, "");
  EXPECT_EQ(now.settings.max_waiting, file.settings.max_waiting);
  EXPECT_EQ(overrides.at("capacity"), (Override{"20", "10"}));
  EXPECT_EQ(file_json(room_fields(), overrides), Json::parse(R"({"capacity": 10, "rate": "off", "message": "from the file"})"));
}

TEST(Merging, NullAndTheFilesOwnValueTakeAnOverrideAway) {
  RoomSettings file;
  Overrides overrides;
  EXPECT_FALSE(put("session_timeout", "20m", file, overrides));
  EXPECT_FALSE(put("session_timeout", "600s", file, overrides));  // what the file says, in other words
  EXPECT_TRUE(overrides.empty());
  EXPECT_FALSE(put("session_timeout", "20m", file, overrides));
  EXPECT_FALSE(put("session_timeout", nullptr, file, overrides));
  EXPECT_TRUE(overrides.empty());
}

TEST(Merging, ARoomOfNoFileKeepsEverything) {
  Overrides overrides;
  EXPECT_FALSE(put("capacity", 0, {}, overrides, true));
  EXPECT_EQ(overrides.at("capacity").value, "0");
}

TEST(Merging, RefusesWithTheNameAndWhatIsAllowed) {
  Overrides overrides;
  const auto wrong = put("capacity", -1, {}, overrides);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->field, "capacity");
  EXPECT_EQ(wrong->detail, "\"capacity\" must be a whole number from 0 to 10000000, as a JSON number");
  EXPECT_EQ(put("poll_interval", "3s", {}, overrides)->detail,
            "\"poll_interval\" must be two times, MIN of at least 100ms and MAX of at least MIN, such as 3s 30s");
  EXPECT_TRUE(put("poll_interval", "3s 30s 300s", {}, overrides));
  EXPECT_TRUE(put("capacity", 1e6, {}, overrides));
  EXPECT_TRUE(put("rate", Json::array(), {}, overrides));
  EXPECT_TRUE(overrides.empty());
}

TEST(Merging, ShowsWhatWasWrittenAsItWasWritten) {
  RoomSettings file;
  Overrides overrides;
  EXPECT_FALSE(put("session_timeout", "1h 30m", file, overrides));
  const Json shown = settings_json(room_fields(), merged(file, overrides), overrides);
  EXPECT_EQ(shown["session_timeout"], "1h 30m");
  EXPECT_EQ(shown["return_grace"], "10m");
  EXPECT_EQ(shown["message"], nullptr);
  EXPECT_EQ(shown["capacity"], 0);
  EXPECT_EQ(shown.size(), kRoomFields);
}

TEST(Settling, TheFileWinsWhereItChanged) {
  RoomSettings file;
  file.settings.capacity = 10;
  Overrides overrides = {{"capacity", {"20", "10"}}, {"rate", {"5/s", "off"}}, {"refresh", {"5s", "20s"}}, {"gone", {"1", "1"}}};
  EXPECT_EQ(settle(room_fields(), file, overrides), std::vector<std::string>{"refresh"});
  EXPECT_EQ(overrides.size(), 3U) << "what is no setting did not change in the file";
  file.settings.capacity = 11;
  EXPECT_EQ(settle(room_fields(), file, overrides), std::vector<std::string>{"capacity"});
  EXPECT_TRUE(overrides.contains("rate"));
}

TEST(Settling, AnUnknownFieldStopsApplying) {
  RoomSettings room;
  EXPECT_EQ(apply(room_fields(), {{"speed", {"5", "1"}}}, room)->field, "speed");
}

std::vector<std::string> unfit_fields(const RoomSettings& file, const Overrides& overrides) {
  std::vector<std::string> names;
  for (const Problem& problem : unfit(room_fields(), file, overrides, [](const RoomSettings& all) { return check_together(all); })) {
    EXPECT_FALSE(problem.detail.empty());
    names.push_back(problem.field);
  }
  return names;
}

TEST(Fitting, OnlyWhatDoesNotFitGoes) {
  RoomSettings file;
  const Overrides overrides = {{"capacity", {"20", "0"}}, {"message", {"hello", ""}}, {"rate", {"5/s", "off"}}, {"refresh", {"2m", "15s"}}};
  EXPECT_EQ(unfit_fields(file, overrides), std::vector<std::string>{});
  file.settings.session_timeout = 60'000'000;
  EXPECT_EQ(unfit_fields(file, overrides), std::vector<std::string>{"refresh"});
}

TEST(Fitting, EachThatIsNotAllowedByItselfGoesAndIsNamed) {
  const Overrides overrides = {{"capacity", {"-5", "0"}}, {"rate", {"5/s", "off"}}, {"speed", {"1", "1"}}};
  EXPECT_EQ(unfit_fields({}, overrides), (std::vector<std::string>{"capacity", "speed"}));
}

TEST(Fitting, OfAContradictionAsFewAsWillDo) {
  RoomSettings file;
  // both rules broken by the one: it goes
  Overrides overrides = {{"refresh", {"4m", "15s"}}, {"session_max", {"9m", "off"}}, {"session_timeout", {"5m", "10m"}}};
  EXPECT_EQ(unfit_fields(file, overrides), std::vector<std::string>{"refresh"});
  overrides = {{"refresh", {"20s", "15s"}}, {"session_max", {"2m", "off"}}, {"session_timeout", {"30s", "10m"}}};
  EXPECT_EQ(unfit_fields(file, overrides), std::vector<std::string>{"refresh"}) << "either of two would do: the first by name";
  file.settings.session_timeout = 60'000'000;  // two that contradict the file, and nothing else
  overrides = {{"capacity", {"7", "0"}}, {"refresh", {"50s", "15s"}}, {"session_max", {"40s", "off"}}};
  EXPECT_EQ(unfit_fields(file, overrides), (std::vector<std::string>{"refresh", "session_max"}));
}

TEST(Fitting, WhatCountsNoMoreIsLeftAlone) {
  RoomSettings file;
  file.settings.session_timeout = 60'000'000;
  Overrides overrides = {{"refresh", {"2m", "15s"}}};
  overrides["refresh"].over = true;
  EXPECT_EQ(unfit_fields(file, overrides), std::vector<std::string>{});
}

TEST(Fitting, TriesEachSetOfAFewOnce) {
  std::vector<Places> tried;
  const auto never = [&tried](const Places& away) {
    tried.push_back(away);
    return false;
  };
  EXPECT_EQ(fewest_to_go(4, never), (Places{0, 1, 2, 3}));
  EXPECT_EQ(tried, (std::vector<Places>{
                       {0}, {1}, {2}, {3}, {0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}, {0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}}));
  EXPECT_EQ(fewest_to_go(0, never), Places{});
  EXPECT_EQ(fewest_to_go(5, [](const Places& away) { return away == Places{1, 4}; }), (Places{1, 4}));
}

Adjustments some() {
  Adjustments all;
  all.rooms["sale"] = {false, room::Mode::hold, {{"message", {"a \"b\"\n東京", ""}}}, {{"shop.example.com", "/a b"}}};
  all.rooms["flash"] = {true, room::Mode::normal, {{"capacity", {"5", "0"}}}, {}};
  all.queues["app"] = {{"timeout", {"5s", "10s"}}};
  return all;
}

TEST(Adjustments, ReadBackFromTheirText) {
  std::string why;
  EXPECT_EQ(Adjustments::parse(some().text(), why), some());
  EXPECT_EQ(Adjustments::parse(Adjustments{}.text(), why), Adjustments{});
}

TEST(Adjustments, DamageIsSaid) {
  const auto said = [](std::string_view text) {
    std::string why;
    EXPECT_FALSE(Adjustments::parse(text, why)) << text;
    return why;
  };
  EXPECT_EQ(said(""), "it is no JSON (it ends too early, after 0 bytes)");
  EXPECT_EQ(said("{}"), "something is missing or of the wrong type");
  EXPECT_EQ(said("[]"), "something is missing or of the wrong type");
  EXPECT_EQ(said(R"({"version": 9, "rooms": {}, "queues": {}})"), "it is of another version");
  EXPECT_EQ(said(R"({"version": 1, "rooms": {"A": {}}, "queues": {}})"), "a name is not of its form");
  EXPECT_EQ(said(R"({"version": 1, "rooms": {"a": {"made": true, "mode": "x", "fields": {}, "attach": []}}, "queues": {}})"),
            "a mode is none of normal, hold, open, closed");
  EXPECT_EQ(said(R"({"version": 1, "rooms": {"a": {"made": 1, "mode": "hold", "fields": {}, "attach": []}}, "queues": {}})"),
            "something is missing or of the wrong type");
  EXPECT_EQ(
      said(
          R"({"version": 1, "rooms": {"a": {"made": true, "mode": "hold", "fields": {}, "attach": [{"host": "A", "path": "/"}]}}, "queues": {}})"),
      "a host or path is not of its form");
  for (const char* version : {"18446744073709551615", "-1", "1e300", "\"7\""}) {
    EXPECT_EQ(said(std::string(R"({"version": 1, "rooms": {"a": {"made": true, "mode": "hold", "fields": {}, "attach": [], "version": )") +
                   version + R"(}}, "queues": {}})"),
              "a version is out of its range");
    EXPECT_EQ(said(std::string(R"({"version": 1, "rooms": {}, "queues": {"a": {"timeout": {"value": "5s", "file": "10s", "at": )") +
                   version + R"(}}}})"),
              "a version is out of its range");
  }
  EXPECT_EQ(said(R"({"version": 1e300, "rooms": {}, "queues": {}})"), "it is of another version");
}

// Whatever a file holds, reading ends with adjustments or a reason.
RC_GTEST_PROP(Adjustments, AnyCutOrChangedTextIsReadOrRefused, ()) {
  std::string text = some().text();
  text.resize(*rc::gen::inRange<std::size_t>(0, text.size() + 1));
  if (!text.empty()) {
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  }
  std::string why;
  RC_ASSERT(Adjustments::parse(text, why).has_value() || !why.empty());
}

TEST(Attaching, TakesHostsAndPaths) {
  std::vector<Attachment> attach;
  EXPECT_FALSE(take_attach(Json::parse(R"([{"host": "Shop.Example.com", "path": "/a"}, {"host": "[::1]"}])"), attach));
  EXPECT_EQ(attach, (std::vector<Attachment>{{"shop.example.com", "/a"}, {"[::1]", "/"}}));
  EXPECT_EQ(attach_json(attach).dump(), R"([{"host":"shop.example.com","path":"/a"},{"host":"[::1]","path":"/"}])");
  for (const char* wrong : {"5",
                            "{}",
                            "[5]",
                            "[{}]",
                            R"([{"host": 5}])",
                            R"([{"host": "a", "path": 5}])",
                            R"([{"host": "a", "x": 5}])",
                            R"([{"host": ""}])",
                            R"([{"host": "a..b"}])",
                            R"([{"host": ".a"}])",
                            R"([{"host": "a:80"}])",
                            R"([{"host": "a/b"}])",
                            R"([{"host": "é"}])",
                            R"([{"host": "a", "path": ""}])",
                            R"([{"host": "a", "path": "x"}])",
                            R"([{"host": "a", "path": "/a//b"}])",
                            R"([{"host": "a", "path": "/.."}])",
                            R"([{"host": "a", "path": "/a/./b"}])",
                            R"([{"host": "a", "path": "/a?b"}])",
                            R"([{"host": "a", "path": "/\u0007"}])",
                            R"([{"host": "[::g]"}])"}) {
    EXPECT_TRUE(take_attach(Json::parse(wrong), attach)) << wrong;
  }
  EXPECT_EQ(attach.size(), 2U);
  EXPECT_FALSE(take_attach(nullptr, attach));
  EXPECT_TRUE(attach.empty());
}

}  // namespace
}  // namespace fairway::operate
