#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "cli/api_address.h"
#include "cli/api_client.h"
#include "cli/assignments.h"
#include "cli/failure.h"
#include "cli/missing_name.h"
#include "cli/operator_command.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/watch.h"

namespace fairway::cli {
namespace {

TEST(Assignments, MakeTheBodyOfAChange) {
  EXPECT_EQ(parse_assignments({"capacity=500", "rate=50/s", "message=a=b, \"c\"", "poll_interval=3s 30s", "session_max="}).dump(),
            R"({"capacity":500,"rate":"50/s","message":"a=b, \"c\"","poll_interval":"3s 30s","session_max":null})");
  EXPECT_EQ(parse_assignments({"page_status=503", "max_waiting=0", "refresh=15"}).dump(),
            R"({"page_status":503,"max_waiting":0,"refresh":"15"})");
  EXPECT_EQ(parse_assignments({"attach="}).dump(), R"({"attach":null})");
}

TEST(Assignments, LeaveWhatIsNoCountToTheGateway) {
  for (const char* value : {"many", "-1", "+1", "5x", " 5", "1.5", "99999999999999999999"})
    EXPECT_EQ(parse_assignments({"capacity=" + std::string(value)})["capacity"], value);
}

TEST(Assignments, NeedAKeyOnce) {
  for (const char* text : {"", "capacity", "=5", "="}) EXPECT_THROW(parse_assignments({text}), UsageError) << text;
  EXPECT_THROW(parse_assignments({"capacity=1", "capacity="}), UsageError);
  EXPECT_THROW(parse_assignments({"attach=shop.example.com"}), UsageError);
}

TEST(Attachments, AreAHostAndAPath) {
  EXPECT_EQ(parse_attachments({"shop.example.com/a/b", "x.example"}).dump(),
            R"([{"host":"shop.example.com","path":"/a/b"},{"host":"x.example","path":"/"}])");
  for (const char* text : {"", "/", "/path"}) EXPECT_THROW(parse_attachments({text}), UsageError) << text;
  EXPECT_EQ(parse_attachments(std::vector<std::string>(16, "a.example")).size(), 16U);
  EXPECT_THROW(parse_attachments(std::vector<std::string>(17, "a.example")), UsageError);
}

TEST(MissingName, NamesThoseThatLookLikeItFirst) {
  EXPECT_EQ(missing_name("room", "slae", {}), "There is no room slae, and no other.");
  EXPECT_EQ(missing_name("fair queue", "ap", {"app"}), "There is no fair queue ap; there is app.");
  EXPECT_EQ(missing_name("room", "slae", {"site", "tickets", "sale"}), "There is no room slae; there are sale, site and tickets.");
  EXPECT_EQ(missing_name("room", "e1", {"a", "b", "c", "d", "f", "e"}), "There is no room e1; there are e, a, b, c, d and 1 more.");
}

TEST(ApiAddress, TakesUserAndPasswordOutOfTheUrl) {
  const ApiAddress address = parse_api_address("https://me:p%40ss%20w@gateway.example:8443/ops/fairway");
  EXPECT_EQ(address.url, "https://gateway.example:8443/ops/fairway/");
  EXPECT_EQ(address.user, "me");
  EXPECT_EQ(address.password, "p@ss w");
  EXPECT_FALSE(address.here);
}

TEST(ApiAddress, KnowsThisMachine) {
  for (const char* text : {"http://localhost:8080/fairway/", "http://127.0.0.1/", "http://[::1]:1", "http://127.9.9.9/"})
    EXPECT_TRUE(parse_api_address(text).here) << text;
  for (const char* text : {"http://127a.example/", "http://localhost.example/"}) EXPECT_FALSE(parse_api_address(text).here) << text;
  EXPECT_EQ(parse_api_address("http://[::1]:1").url, "http://[::1]:1/");
  EXPECT_EQ(parse_api_address(kDefaultApi).url, kDefaultApi);
}

TEST(ApiAddress, RefusesWhatIsNone) {
  for (const char* text : {"", "localhost", "localhost:8080", "ftp://x/", "file:///etc/passwd", "http://", "http://x/?a=1", "http://x/#a",
                           "http://x\n/", "http://x:99999/"})
    EXPECT_THROW(parse_api_address(text), UsageError) << text;
}

TEST(Refusal, IsTheApisSentenceWithItsField) {
  EXPECT_EQ(refusal(422, R"({"detail":"\"capacity\" must be a number.","field":"capacity"})", "u"), "\"capacity\" must be a number.");
  EXPECT_EQ(refusal(422, R"({"detail":"Must be a number.","field":"capacity"})", "u"), "capacity: Must be a number.");
  EXPECT_EQ(refusal(422, R"({"detail":"\"capacity\" must be a whole number from 0 to 9, as a JSON number.","field":"capacity"})", "u"),
            "\"capacity\" must be a whole number from 0 to 9.");
  EXPECT_EQ(refusal(409, R"({"detail":"Not now."})", "u"), "Not now.");
  EXPECT_EQ(refusal(500, "<html>", "http://x/"), "what answers at http://x/ is not a gateway's API (status 500)");
  EXPECT_NE(refusal(401, "", "http://x/").find("FAIRWAY_API_PASSWORD"), std::string::npos);
  EXPECT_NE(refusal(404, "[]", "http://x/").find("FAIRWAY_API"), std::string::npos);
}

std::optional<OperatorCommand> parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "fairway");
  words.insert(words.end(), {"--api", "http://x/"});
  return parse_command_line(static_cast<int>(std::size(words)), words.data()).operate;
}

TEST(OperatorOptions, TellsVerbAndBody) {
  const auto set = parsed({"room", "set", "sale", "capacity=5", "rate=", "--attach", "a.example/x", "--attach", "b.example", "--json"});
  EXPECT_EQ(set->verb, Verb::room_set);
  EXPECT_EQ(set->change.dump(),
            R"({"capacity":5,"rate":null,"attach":[{"host":"a.example","path":"/x"},{"host":"b.example","path":"/"}]})");
  EXPECT_TRUE(set->json);
  EXPECT_EQ(set->api.url, "http://x/");
  const auto create = parsed({"room", "create", "sale", "capacity=5"});
  EXPECT_EQ(create->verb, Verb::room_create);
  EXPECT_EQ(create->change.dump(), R"({"capacity":5})");
  EXPECT_EQ(parsed({"room", "evict", "sale", "--all", "--line"})->eviction.dump(), R"({"all":true,"line":true})");
  EXPECT_EQ(parsed({"room", "close", "sale"})->mode, "closed");
  EXPECT_EQ(parsed({"room", "normal", "hold"})->name, "hold");
  EXPECT_EQ(parsed({"queue", "watch", "app", "--count", "3"})->count, 3U);
  EXPECT_EQ(parsed({"queue", "flows", "app"})->top, 20U);
}

TEST(EvictionQuestion, NamesHowMany) {
  const Json room{{"name", "sale"}, {"inside", 1}, {"waiting", 250}};
  EXPECT_EQ(eviction_question({{"all", true}}, room), "sale: end 1 session inside");
  EXPECT_EQ(eviction_question({{"all", true}, {"line", true}}, room), "sale: end 1 session inside and 250 waiting");
  EXPECT_EQ(eviction_question({{"network", "203.0.113.0/24"}}, room), "sale: end all of 203.0.113.0/24 among 1 session inside");
  EXPECT_EQ(eviction_question({{"sid", "00"}, {"line", true}}, room), "sale: end this one session or its place in line");
}

Json room() {
  return Json::parse(
      R"({"name":"sale","defined":"nginx.conf","mode":"hold","inside":3,"reserved":0,"granted":1,"waiting":5,"admitted_total":9,"abandoned_total":2,
    "admissions_per_second":1.25,"eta":null,"recovering":false,"store":{"kind":"memory","reachable":false},
    "settings":{"capacity":4,"message":"Soon.","attach":[{"host":"a.example","path":"/x"}]},"file":{"capacity":1}})");
}

TEST(RoomText, ShowsWhatWasChangedBesideTheFile) {
  const std::string text = room_text(room());
  for (const char* part :
       {"3 of 4, 1 of them called", "newcomer waits  -", "(nginx.conf: 1)", "a.example/x", "memory (not reachable)", "9, now 1.3 a second"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  Json made = room();
  made["defined"] = "console";
  EXPECT_EQ(room_text(made).find("(nginx.conf"), std::string::npos) << room_text(made);
  made["reserved"] = 2;
  EXPECT_NE(room_text(made).find("\nreserved        2 "), std::string::npos) << room_text(made);
  EXPECT_NE(room_table({{"rooms", {made}}}).find("  3 + 2 reserved  "), std::string::npos) << room_table({{"rooms", {made}}});
  EXPECT_EQ(room_line(made), "sale  hold  inside 3 of 4, 2 reserved  waiting 5  admissions/s 1.3");
  EXPECT_EQ(room_table({{"rooms", Json::array()}}), "There are no rooms.\n");
  EXPECT_EQ(room_text(made).find("saved"), std::string::npos);
  made["saved"] = false;
  EXPECT_NE(room_text(made).find("cannot be saved: it is lost when nginx is restarted"), std::string::npos);
}

TEST(RoomView, FitsItsColumns) {
  const Json history{{"waiting", {0, 5}}, {"inside", {nullptr, 3}}, {"admissions", {0, 0}}};
  const auto lines = room_view(room(), history, 30);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], "room sale  hold  inside 3 of 4, 1 called  newcomer waits -  STORE NOT REACHABLE");
  EXPECT_EQ(lines[2], "waiting              5      ▁█");
  EXPECT_EQ(width_of(lines[2]), 30U);
  EXPECT_EQ(lines[3], "inside               3       █");
  EXPECT_EQ(lines[4], "admissions/s       1.3      ▁▁");
  EXPECT_EQ(room_view(room(), history, 5)[2], "waiting              5  ");
  EXPECT_EQ(room_line(room()), "sale  hold  inside 3 of 4  waiting 5  admissions/s 1.3");
}

}  // namespace
}  // namespace fairway::cli
