// Where the client of the Valkey store goes: greeting, sentinels, redirects of a cluster, seeds; and closing in every state.
#include <gtest/gtest.h>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

constexpr Micros kTimeout = 250'000;

std::vector<std::string> names(const std::vector<Command>& commands) {
  std::vector<std::string> out;
  for (const Command& command : commands) out.push_back(command.name());
  return out;
}

using Names = std::vector<std::string>;

TEST(ValkeyGreeting, AuthAndSelectComeFirst) {
  Rig rig{{"valkey://user:secret@one/3"}};
  rig.submit(1);
  rig.advance();
  rig.open_all();
  const auto commands = rig.sent();
  EXPECT_EQ(names(commands), (Names{"AUTH", "SELECT"}));
  EXPECT_EQ(commands[0].words, (std::vector<std::string>{"AUTH", "user", "secret"}));
  EXPECT_EQ(commands[1].words, (std::vector<std::string>{"SELECT", "3"}));
  rig.answer("+OK\r\n");
  EXPECT_TRUE(rig.sent().empty());
  rig.answer("+OK\r\n");
  EXPECT_EQ(names(rig.sent()), (Names{"EVALSHA"}));
}

TEST(ValkeyGreeting, PasswordAlone) {
  Rig rig{{"valkey://:secret@one"}};
  rig.submit(1);
  rig.advance();
  rig.open_all();
  EXPECT_EQ(rig.sent().at(0).words, (std::vector<std::string>{"AUTH", "secret"}));
}

TEST(ValkeyGreeting, AWrongPasswordIsAFailure) {
  Rig rig{{"valkey://:secret@one"}};
  rig.submit(1);
  rig.advance();
  rig.open_all();
  rig.answer("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  const auto reports = rig.client.take_reports();
  EXPECT_EQ(reports.at(0).failure, Failure::no_auth);
  EXPECT_EQ(reports.at(0).message, "WRONGPASS invalid username-password pair or user is disabled.");
  EXPECT_TRUE(rig.breaker.open());
}

TEST(ValkeyGreeting, WhatTheServerSaysIsFitForALog) {
  Rig rig{{"valkey://one/3"}};
  rig.submit(1);
  rig.advance();
  rig.open_all();
  rig.answer("-ERR \x1b[31m" + std::string(1000, 'x') + "\r\n");
  const auto reports = rig.client.take_reports();
  EXPECT_EQ(reports.at(0).failure, Failure::error);
  EXPECT_EQ(reports.at(0).message.size(), 200U);
  EXPECT_EQ(reports.at(0).message.find('\x1b'), std::string::npos);
}

TEST(ValkeySeeds, AFailedSeedIsFollowedByTheNext) {
  Rig rig{{"valkey://one:1", "valkey://two:2"}};
  rig.submit(1);
  rig.advance();
  ASSERT_NE(rig.link(1), nullptr);
  rig.close(1);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  rig.now += 10'000'000;
  rig.submit(2);
  rig.advance();
  EXPECT_EQ(rig.link(1), nullptr);
  ASSERT_NE(rig.link(2), nullptr);
}

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

class ValkeySentinel : public testing::Test {
 protected:
  static constexpr std::string_view kMasterReply = "*2\r\n$4\r\nnode\r\n$4\r\n6380\r\n";
  static constexpr std::string_view kRoleMaster = "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n";
  static constexpr std::string_view kRoleReplica = "*5\r\n$5\r\nslave\r\n$4\r\nnode\r\n:6379\r\n$9\r\nconnected\r\n:1\r\n";

  ValkeySentinel() {
    rig.submit(1);
    rig.advance();
  }
  Rig rig{{"valkey://:secret@s1:1", "valkey://s2:2", "sentinel=shop"}};
};

TEST_F(ValkeySentinel, TheMasterIsAskedForThenItsRole) {
  ASSERT_NE(rig.link(1), nullptr);
  rig.open_all();
  EXPECT_EQ(rig.sent(1).at(0).words, (std::vector<std::string>{"SENTINEL", "get-master-addr-by-name", "shop"}));
  rig.answer(kMasterReply, 1);
  EXPECT_EQ(rig.link(1), nullptr) << "the sentinel is left";
  ASSERT_NE(rig.link(6380), nullptr);
  rig.open_all();
  EXPECT_EQ(names(rig.sent(6380)), (Names{"AUTH", "ROLE"}));
  rig.answer("+OK\r\n" + std::string(kRoleMaster), 6380);
  EXPECT_EQ(names(rig.sent(6380)), (Names{"EVALSHA"}));
  rig.answer(script_reply(1), 6380);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
}

TEST_F(ValkeySentinel, ASentinelThatHangsLeavesTimeForTheNext) {
  rig.open_all();
  ASSERT_LE(rig.client.deadline(), rig.now + kTimeout / 3);
  rig.advance(rig.client.deadline() - rig.now);
  EXPECT_EQ(rig.link(1), nullptr);
  ASSERT_NE(rig.link(2), nullptr);
  rig.open_all();
  rig.answer(kMasterReply, 2);
  ASSERT_NE(rig.link(6380), nullptr);
  EXPECT_TRUE(rig.outcomes().empty());
  EXPECT_FALSE(rig.breaker.open());
}

TEST_F(ValkeySentinel, AStaleSentinelIsFollowedByTheNext) {
  rig.open_all();
  rig.answer(kMasterReply, 1);
  rig.open_all();
  rig.answer("+OK\r\n" + std::string(kRoleReplica), 6380);
  EXPECT_EQ(rig.link(6380), nullptr);
  ASSERT_NE(rig.link(2), nullptr);
  EXPECT_TRUE(rig.outcomes().empty());
}

TEST_F(ValkeySentinel, WhenNoneKnowsTheMasterItIsDown) {
  rig.open_all();
  rig.answer("*-1\r\n", 1);
  ASSERT_NE(rig.link(2), nullptr);
  rig.open_all();
  rig.answer("*-1\r\n", 2);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  EXPECT_EQ(rig.client.take_reports().at(0).failure, Failure::no_master);
  EXPECT_TRUE(rig.breaker.open());
}

TEST_F(ValkeySentinel, ThePasswordIsShownToASentinelThatAsksForIt) {
  rig.open_all();
  EXPECT_EQ(names(rig.sent(1)), (Names{"SENTINEL"}));
  rig.answer("-NOAUTH Authentication required.\r\n", 1);
  EXPECT_EQ(names(rig.sent(1)), (Names{"AUTH", "SENTINEL"}));
  rig.answer("+OK\r\n" + std::string(kMasterReply), 1);
  EXPECT_NE(rig.link(6380), nullptr);
}

TEST_F(ValkeySentinel, ReadonlyAsksTheSentinelsAgain) {
  rig.open_all();
  rig.answer(kMasterReply, 1);
  rig.open_all();
  rig.answer("+OK\r\n" + std::string(kRoleMaster), 6380);
  rig.answer("-READONLY You can't write against a read only replica.\r\n", 6380);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  rig.now += 10'000'000;
  rig.submit(2);
  rig.advance();
  EXPECT_EQ(rig.link(6380), nullptr);
  EXPECT_EQ(rig.client.links().size(), 1U);
  EXPECT_EQ(rig.client.links().front()->purpose(), Link::Purpose::sentinel);
}

TEST_F(ValkeySentinel, GarbageFromASentinelIsLikeNoAnswer) {
  for (const std::string_view bytes :
       {"+OK\r\n", "*2\r\n:1\r\n:2\r\n", "*1\r\n$1\r\nx\r\n", "*2\r\n$1\r\nx\r\n$1\r\ny\r\n", "HTTP/1.1\r\n"}) {
    Rig each{{"valkey://s1:1", "sentinel=shop"}};
    each.submit(1);
    each.advance();
    each.open_all();
    each.answer(bytes, 1);
    EXPECT_EQ(each.outcomes(), (Outcomes{{1, Outcome::failed}})) << bytes;
  }
}

// Closing (or going silent) after any number of exchanged steps: everybody is answered once, and the next try works.
TEST(ValkeyStates, ClosedInEachState) {
  const std::vector<std::string> script{"",  // connecting
                                        "*2\r\n$4\r\nnode\r\n$4\r\n6380\r\n",
                                        "",
                                        "+OK\r\n",
                                        "+OK\r\n",
                                        "*1\r\n$6\r\nmaster\r\n",
                                        script_reply(2)};
  for (const bool silent : {false, true}) {
    for (std::size_t steps = 0; steps <= script.size(); ++steps) {
      Rig rig{{"valkey://u:p@s1:1/2", "sentinel=shop"}};
      rig.submit(1);
      rig.submit(2);
      rig.advance();
      for (std::size_t i = 0; i < steps; ++i) {
        if (script[i].empty()) {
          rig.open_all();
        } else {
          rig.answer(script[i].substr(0, script[i].size() / 2));
          rig.answer(script[i].substr(script[i].size() / 2));
        }
      }
      const bool answered = steps == script.size();
      if (silent) {
        rig.advance(kTimeout);
      } else {
        rig.answer("*");  // in the middle of a reply
        if (rig.link() != nullptr) rig.close();
      }
      const Outcome expected = answered ? Outcome::answered : Outcome::failed;
      EXPECT_EQ(rig.outcomes(), (Outcomes{{1, expected}, {2, expected}})) << steps << silent;
      rig.now += 10'000'000;
      rig.submit(3);
      rig.advance();
      ASSERT_FALSE(rig.client.links().empty()) << steps << silent;
    }
  }
}

}  // namespace
}  // namespace fairway::valkey::test
