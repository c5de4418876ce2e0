// How a connection of the Valkey client begins, and how it ends: greeting, seeds, closing in every state.
#include <gtest/gtest.h>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

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
