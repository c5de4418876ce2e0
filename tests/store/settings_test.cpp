// settings.lua on a real server: who may put a text in place of which, and which gateways are seen.
#include <gtest/gtest.h>

#include "server.h"
#include "store/valkey/settings_call.h"

namespace fairway::test {
namespace {

using valkey::SettingsReply;

class SettingsScript : public testing::Test {
 protected:
  SettingsReply ask(const valkey::SettingsRequest& request) {
    std::string command;
    valkey::append_settings_call(command, request, true);
    SettingsReply reply;
    const valkey::Value value = side.exchange(command, 1).at(0);
    EXPECT_TRUE(valkey::read_settings_reply(value, reply)) << value.text;
    return reply;
  }
  SettingsReply offer(const std::string& known, const std::string& stamp, const std::string& text) {
    return ask({"me", "k", known, stamp, text});
  }

  Server server;
  Connection side{server};
};

TEST_F(SettingsScript, ATextIsTakenInPlaceOfTheOneThatIsKnown) {
  EXPECT_EQ(offer("", "", "").stamp, "");
  EXPECT_TRUE(offer("", "s1", "one").taken);
  const SettingsReply late = offer("", "s2", "two");
  EXPECT_FALSE(late.taken);
  EXPECT_EQ(late.stamp, "s1");
  EXPECT_EQ(late.text, "one");
  EXPECT_TRUE(offer("s1", "s3", "three").taken);
  EXPECT_FALSE(offer("s1", "s4", "four").taken);
  EXPECT_EQ(offer("s3", "", "").text, "") << "it is known";
  EXPECT_EQ(offer("s1", "", "").text, "three");
}

TEST_F(SettingsScript, AfterALossTheStampIsKnownToNobody) {
  EXPECT_TRUE(offer("", "s1", "one").taken);
  side.command({"FLUSHALL"});
  const SettingsReply lost = offer("s1", "s2", "two");
  EXPECT_FALSE(lost.taken);
  EXPECT_EQ(lost.stamp, "");
  EXPECT_TRUE(offer("", "s2", "two").taken);
}

TEST_F(SettingsScript, GatewaysSeeEachOtherWithTheLatestKeys) {
  EXPECT_TRUE(ask({"a", "k1:00 k2:00", "", "", ""}).gateways.empty());
  const SettingsReply second = ask({"b", "k1:00", "", "", ""});
  ASSERT_EQ(second.gateways.size(), 1U);
  EXPECT_EQ(second.gateways[0].id, "a");
  EXPECT_EQ(second.gateways[0].keys, "k1:00 k2:00");
  ask({"a", "k3:00", "", "", ""});
  const SettingsReply third = ask({"b", "k1:00", "", "", ""});
  ASSERT_EQ(third.gateways.size(), 1U);
  EXPECT_EQ(third.gateways[0].keys, "k3:00");
}

TEST_F(SettingsScript, WhoWasNotSeenForAMinuteIsGone) {
  const auto now = std::stoll(side.command({"TIME"}).items.at(0).text);
  side.command({"ZADD", "fairway:{all}:gateways", std::to_string(now - 55), "lately k", std::to_string(now - 70), "gone k"});
  const SettingsReply reply = ask({"me", "k", "", "", ""});
  ASSERT_EQ(reply.gateways.size(), 1U);
  EXPECT_EQ(reply.gateways[0].id, "lately");
  EXPECT_EQ(side.command({"ZCARD", "fairway:{all}:gateways"}).integer, 2);
}

TEST_F(SettingsScript, AQuestionThatBringsNothingNewWritesNothing) {
  offer("", "s1", "one");
  side.command({"CONFIG", "RESETSTAT"});
  offer("s1", "", "");
  const std::string stats = side.command({"INFO", "commandstats"}).text;
  EXPECT_EQ(stats.find("cmdstat_zadd"), std::string::npos) << stats;
  EXPECT_EQ(stats.find("cmdstat_hset"), std::string::npos);
}

TEST_F(SettingsScript, AFullServerStillAnswersQuestions) {
  offer("", "s1", "one");
  side.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(ask({"new", "k", "", "", ""}).text, "one");
  std::string command;
  valkey::append_settings_call(command, {"me", "k", "s1", "s2", "two"}, true);
  EXPECT_EQ(side.exchange(command, 1).at(0).text.substr(0, 3), "OOM");
}

}  // namespace
}  // namespace fairway::test
