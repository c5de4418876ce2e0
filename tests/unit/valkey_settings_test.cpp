// The client's calls about shared settings: beside those of rooms, and never an outage for them.
#include <gtest/gtest.h>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

using ValkeySettings = ReadyRig;

std::string reply(int taken, std::string_view stamp, std::string_view text, std::vector<std::string_view> gateways = {}) {
  std::string out = "*" + std::to_string(3 + gateways.size()) + "\r\n:" + std::to_string(taken) + "\r\n" + bulk(stamp) + bulk(text);
  for (const std::string_view gateway : gateways) out += bulk(gateway);
  return out;
}

TEST_F(ValkeySettings, AQuestionIsACallOfItsOwn) {
  make_ready();
  rig.client.settings(7, {"gate", "k1", "s1", "s2", "text"}, rig.now);
  rig.submit(1);
  rig.advance();
  const auto commands = rig.sent();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].words[1], script_sha1());
  EXPECT_EQ(commands[1].words, (std::vector<std::string>{"EVALSHA", std::string(settings_script_sha1()), "2", "fairway:{all}:settings",
                                                         "fairway:{all}:gateways", "gate", "k1", "s1", "s2", "text"}));
  rig.answer(script_reply(1) + reply(1, "s2", "", {"other k2 k3"}));
  const auto done = rig.client.take_completions();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].id, 1U);
  EXPECT_EQ(done[1].id, 7U);
  ASSERT_EQ(done[1].outcome, Outcome::answered);
  EXPECT_TRUE(done[1].settings->taken);
  EXPECT_EQ(done[1].settings->stamp, "s2");
  ASSERT_EQ(done[1].settings->gateways.size(), 1U);
  EXPECT_EQ(done[1].settings->gateways[0].id, "other");
  EXPECT_EQ(done[1].settings->gateways[0].keys, "k2 k3");
  EXPECT_EQ(rig.client.deadline(), 0);
}

TEST_F(ValkeySettings, OneAfterTheOther) {
  make_ready();
  for (std::uint64_t id = 1; id <= 3; ++id) rig.client.settings(id, {"gate", "k1", "", "", ""}, rig.now);
  rig.advance();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(rig.sent().size(), 1U);
    rig.answer(reply(0, "", ""));
    EXPECT_EQ(rig.outcomes(), (Outcomes{{id, Outcome::answered}}));
  }
}

TEST_F(ValkeySettings, NoScriptIsInvisible) {
  make_ready();
  rig.client.settings(1, {"gate", "k1", "", "", ""}, rig.now);
  rig.advance();
  rig.sent();
  rig.answer("-NOSCRIPT No matching script.\r\n");
  const auto commands = rig.sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].name(), "EVAL");
  EXPECT_EQ(commands[0].words[1], settings_script_text());
  rig.answer(reply(0, "", ""));
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
}

TEST_F(ValkeySettings, AnErrorOfTheirsIsNoOutage) {
  make_ready();
  for (const std::string_view error : {"-NOPERM no rights\r\n", "-ERR nonsense\r\n", "-CLUSTERDOWN Hash slot not served\r\n"}) {
    rig.client.settings(1, {"gate", "k1", "", "", ""}, rig.now);
    rig.submit(2);
    rig.advance();
    rig.sent();
    rig.answer(script_reply(1) + std::string(error));
    EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}, {2, Outcome::answered}})) << error;
    EXPECT_FALSE(rig.breaker.open());
    EXPECT_EQ(rig.client.links().size(), 1U) << "the connection stays";
  }
  const auto reports = rig.client.take_reports();
  ASSERT_EQ(reports.size(), 6U);
  EXPECT_EQ(reports[1].room, kSettings);
  EXPECT_EQ(reports[1].message, "NOPERM no rights");
}

TEST_F(ValkeySettings, AFullServerIsNoOutage) {
  make_ready();
  rig.client.settings(1, {"gate", "k1", "", "s", "x"}, rig.now);
  rig.advance();
  rig.sent();
  rig.answer("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::no_memory}}));
  EXPECT_FALSE(rig.breaker.open());
}

TEST_F(ValkeySettings, AServerThatIsSilentIsOne) {
  make_ready();
  rig.client.settings(1, {"gate", "k1", "", "", ""}, rig.now);
  rig.advance();
  rig.sent();
  rig.advance(kTimeout);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  EXPECT_TRUE(rig.breaker.open());
  rig.client.settings(2, {"gate", "k1", "", "", ""}, rig.now);
  rig.advance();
  EXPECT_EQ(rig.outcomes(), (Outcomes{{2, Outcome::refused}}));
}

TEST_F(ValkeySettings, TheyMayFindTheStoreBack) {
  make_ready();
  rig.close();
  rig.submit(1);
  rig.advance();
  rig.close();
  ASSERT_TRUE(rig.breaker.open());
  rig.outcomes();
  rig.now += 2 * rig.config.breaker;
  rig.client.settings(2, {"gate", "k1", "", "", ""}, rig.now);
  rig.advance();
  rig.open_all();
  EXPECT_EQ(rig.sent().size(), 1U);
  rig.answer(reply(0, "", ""));
  EXPECT_EQ(rig.outcomes(), (Outcomes{{2, Outcome::answered}}));
  EXPECT_FALSE(rig.breaker.open());
}

TEST_F(ValkeySettings, AReplyOfAnotherFormIsAFailure) {
  for (const std::string& wrong :
       {std::string("*0\r\n"), std::string("+OK\r\n"), std::string("*3\r\n:1\r\n:2\r\n:3\r\n"), reply(0, "", "", {"no-blank"})}) {
    Rig fresh({"valkey://one"});
    fresh.client.settings(1, {"gate", "k1", "", "", ""}, fresh.now);
    fresh.advance();
    fresh.open_all();
    fresh.sent();
    fresh.answer(wrong);
    EXPECT_EQ(fresh.outcomes(), (Outcomes{{1, Outcome::failed}})) << wrong;
  }
}

// In a cluster their slot has a node of its own; that one being gone ends no room's calls.
TEST(ValkeySettingsCluster, FollowTheirSlotAndFailAlone) {
  Rig rig({"valkey://one:7001", "valkey://two:7002"});
  rig.submit(1);
  rig.advance();
  rig.open_all();
  rig.sent(7001);
  rig.answer(script_reply(1), 7001);
  rig.client.settings(2, {"gate", "k1", "", "", ""}, rig.now);
  rig.advance();
  rig.sent(7001);
  rig.answer("-MOVED 12 three:7003\r\n", 7001);
  rig.open_all();
  ASSERT_EQ(rig.sent(7003).size(), 1U);
  rig.close(7003);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}, {2, Outcome::failed}}));
  EXPECT_FALSE(rig.breaker.open());
  rig.submit(3);
  rig.advance();
  rig.sent(7001);
  rig.answer(script_reply(1), 7001);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{3, Outcome::answered}}));
}

}  // namespace
}  // namespace fairway::valkey::test
