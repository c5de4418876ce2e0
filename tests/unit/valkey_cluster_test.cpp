// Redirects of a cluster.
#include <gtest/gtest.h>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

class ValkeyCluster : public testing::Test {
 protected:
  ValkeyCluster() {
    rig.submit(1);
    rig.advance();
    rig.open_all();
    rig.sent(1);
  }
  Rig rig{{"valkey://one:1", "valkey://two:2"}};
};

TEST_F(ValkeyCluster, MovedIsFollowedAndRemembered) {
  rig.answer("-MOVED 3999 node:7\r\n", 1);
  ASSERT_NE(rig.link(7), nullptr);
  EXPECT_EQ(rig.link(7)->to(), (Endpoint{"node", 7, {}}));
  rig.open_all();
  auto commands = rig.sent(7);
  EXPECT_EQ(names(commands), (Names{"EVALSHA"}));
  EXPECT_EQ(commands[0].operations(), 1U);
  rig.answer(script_reply(1), 7);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
  rig.submit(2);
  rig.advance();
  EXPECT_TRUE(rig.sent(1).empty());
  EXPECT_EQ(names(rig.sent(7)), (Names{"EVALSHA"}));
  EXPECT_FALSE(rig.breaker.open());
}

TEST_F(ValkeyCluster, RoomsMayLiveOnDifferentNodes) {
  rig.answer("-MOVED 3999 node:7\r\n", 1);
  rig.open_all();
  rig.answer(script_reply(1), 7);
  rig.outcomes();
  rig.submit(2, 1);
  rig.submit(3, 0);
  rig.advance();
  EXPECT_EQ(rig.sent(1).at(0).first_key(), "fairway:{other}:state");
  rig.sent(7);
  // The node of one room is lost: the other room's call goes on.
  rig.close(7);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{3, Outcome::failed}}));
  rig.answer(script_reply(1), 1);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{2, Outcome::answered}}));
}

TEST_F(ValkeyCluster, AfterTheLossOfItsNodeARoomAsksASeed) {
  rig.answer("-MOVED 3999 node:7\r\n", 1);
  rig.open_all();
  rig.close(7);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  rig.now += 10'000'000;
  rig.submit(2);
  rig.advance();
  EXPECT_EQ(rig.link(7), nullptr);
  EXPECT_EQ(names(rig.sent(1)), (Names{"EVALSHA"}));
}

TEST_F(ValkeyCluster, AskIsFollowedOnce) {
  rig.answer("-ASK 3999 node:7\r\n", 1);
  rig.open_all();
  EXPECT_EQ(names(rig.sent(7)), (Names{"ASKING", "EVALSHA"}));
  rig.answer("+OK\r\n" + script_reply(1), 7);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
  rig.submit(2);
  rig.advance();
  EXPECT_EQ(names(rig.sent(1)), (Names{"EVALSHA"}));
}

TEST_F(ValkeyCluster, ScriptIsSentToTheNodeThatIsAsked) {
  rig.answer("-ASK 3999 node:7\r\n", 1);
  rig.open_all();
  rig.sent(7);
  rig.answer("+OK\r\n-NOSCRIPT No matching script.\r\n", 7);
  // The next try begins at the owner, which asks to go there again; then with the text.
  EXPECT_EQ(names(rig.sent(1)), (Names{"EVAL"}));
  rig.answer("-ASK 3999 node:7\r\n", 1);
  EXPECT_EQ(names(rig.sent(7)), (Names{"ASKING", "EVAL"}));
  rig.answer("+OK\r\n" + script_reply(1), 7);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
}

TEST_F(ValkeyCluster, TryAgainIsTriedAgainALittleLater) {
  rig.answer("-TRYAGAIN Multiple keys request during rehashing of slot\r\n", 1);
  EXPECT_TRUE(rig.sent(1).empty());
  ASSERT_LT(rig.client.deadline(), rig.now + 10'000);
  rig.advance(rig.client.deadline() - rig.now);
  EXPECT_EQ(names(rig.sent(1)), (Names{"EVALSHA"}));
  rig.answer(script_reply(1), 1);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
}

TEST_F(ValkeyCluster, TryAgainForEverIsATimeout) {
  const Micros start = rig.now;
  while (rig.outcomes().empty()) {
    ASSERT_LE(rig.now, start + kTimeout);
    if (!rig.sent(1).empty() || rig.now == start) rig.answer("-TRYAGAIN\r\n", 1);
    rig.advance(rig.client.deadline() - rig.now);
  }
  EXPECT_EQ(rig.now, start + kTimeout);
  EXPECT_TRUE(rig.breaker.open());
}

TEST_F(ValkeyCluster, AskAndTryAgainInTurnIsNoCircle) {
  for (int i = 0; i < 8; ++i) {
    rig.answer("-ASK 3999 node:7\r\n", 1);
    if (i == 0) rig.open_all();
    EXPECT_EQ(names(rig.sent(7)), (Names{"ASKING", "EVALSHA"}));
    rig.answer("+OK\r\n-TRYAGAIN x\r\n", 7);
    rig.advance(rig.client.deadline() - rig.now);
    ASSERT_EQ(names(rig.sent(1)), (Names{"EVALSHA"})) << i;
    ASSERT_LT(rig.now, 1'000'000 + kTimeout);
  }
  rig.answer(script_reply(1), 1);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
}

TEST_F(ValkeyCluster, ACircleOfRedirectsEnds) {
  std::uint16_t at = 1;
  for (int i = 0; i < 20 && rig.link(at) != nullptr; ++i) {
    const std::uint16_t next = at == 1 ? 7 : 1;
    rig.answer("-MOVED 3999 one:" + std::to_string(next) + "\r\n", at);
    rig.open_all();
    at = next;
  }
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  EXPECT_EQ(rig.client.take_reports().at(0).failure, Failure::redirects);
}

TEST_F(ValkeyCluster, AnEmptyHostIsTheOneThatWasAsked) {
  rig.answer("-MOVED 3999 :7\r\n", 1);
  ASSERT_NE(rig.link(7), nullptr);
  EXPECT_EQ(rig.link(7)->to().host, "one");
}

TEST_F(ValkeyCluster, IPv6IsReadUpToTheLastColon) {
  rig.answer("-MOVED 3999 2001:db8::7:7\r\n", 1);
  ASSERT_NE(rig.link(7), nullptr);
  EXPECT_EQ(rig.link(7)->to().host, "2001:db8::7");
}

TEST_F(ValkeyCluster, ARedirectToNowhereIsAProtocolError) {
  for (const std::string_view bytes :
       {"-MOVED\r\n", "-MOVED 3999\r\n", "-MOVED 3999 x:0\r\n", "-MOVED 3999 x:99999\r\n", "-ASK 1 a/b:1\r\n"}) {
    Rig each{{"valkey://one:1"}};
    each.submit(1);
    each.advance();
    each.open_all();
    each.answer(bytes, 1);
    EXPECT_EQ(each.outcomes(), (Outcomes{{1, Outcome::failed}})) << bytes;
    EXPECT_EQ(each.client.take_reports().at(0).failure, Failure::protocol) << bytes;
  }
}

}  // namespace
}  // namespace fairway::valkey::test
