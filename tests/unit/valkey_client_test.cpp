// The client of the Valkey store on a server that answers: batches, rooms, scripts, refreshes, cuts.
#include <gtest/gtest.h>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

using ValkeyClient = ReadyRig;

TEST_F(ValkeyClient, TheFirstOperationMakesAConnectionAndIsAnswered) {
  rig.submit(1);
  EXPECT_TRUE(rig.client.links().empty());
  rig.advance();
  ASSERT_EQ(rig.client.links().size(), 1U);
  EXPECT_EQ(rig.link()->to(), (Endpoint{"one", 6379, {}}));
  EXPECT_EQ(rig.client.deadline(), rig.now + kTimeout);
  rig.open_all();
  const auto commands = rig.sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].name(), "EVALSHA");
  EXPECT_EQ(commands[0].words[1], script_sha1());
  EXPECT_EQ(commands[0].first_key(), "fairway:{sale}:state");
  EXPECT_EQ(commands[0].operations(), 1U);
  rig.answer(script_reply(1));
  const auto done = rig.client.take_completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].outcome, Outcome::answered);
  EXPECT_EQ(done[0].answer.number, 100U);
  EXPECT_EQ(done[0].summary.version, 7U);
  EXPECT_EQ(rig.client.deadline(), 0);
}

TEST_F(ValkeyClient, OperationsGatherWhileACallIsUnderWay) {
  make_ready();
  rig.submit(1);
  rig.advance();
  EXPECT_EQ(rig.sent().at(0).operations(), 1U);
  for (std::uint64_t id = 2; id <= 20; ++id) rig.submit(id);
  rig.advance();
  EXPECT_TRUE(rig.sent().empty());
  rig.answer(script_reply(1));
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
  const auto commands = rig.sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].operations(), 19U);
  rig.answer(script_reply(19));
  EXPECT_EQ(rig.outcomes().size(), 19U);
}

TEST_F(ValkeyClient, ACallCarriesABoundedNumberOfOperations) {
  make_ready();
  for (std::uint64_t id = 1; id <= kMaxOperations + 5; ++id) rig.submit(id);
  rig.advance();
  EXPECT_EQ(rig.sent().at(0).operations(), kMaxOperations);
  rig.answer(script_reply(kMaxOperations));
  EXPECT_EQ(rig.outcomes().size(), kMaxOperations);
  EXPECT_EQ(rig.sent().at(0).operations(), 5U);
}

TEST_F(ValkeyClient, RoomsShareAConnectionButNotACall) {
  make_ready();
  rig.submit(1, 0);
  rig.submit(2, 1);
  rig.advance();
  const auto commands = rig.sent();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].first_key(), "fairway:{sale}:state");
  EXPECT_EQ(commands[1].first_key(), "fairway:{other}:state");
  rig.answer(script_reply(1) + script_reply(1).substr(0, 20));
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
  rig.answer(script_reply(1).substr(20));
  EXPECT_EQ(rig.outcomes(), (Outcomes{{2, Outcome::answered}}));
}

TEST_F(ValkeyClient, NoScriptIsInvisible) {
  make_ready();
  rig.submit(1);
  rig.advance();
  rig.sent();
  rig.answer("-NOSCRIPT No matching script. Please use EVAL.\r\n");
  const auto commands = rig.sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].name(), "EVAL");
  EXPECT_EQ(commands[0].words[1], script_text());
  EXPECT_EQ(commands[0].operations(), 1U);
  rig.answer(script_reply(1));
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
  rig.submit(2);
  rig.advance();
  EXPECT_EQ(rig.sent().at(0).name(), "EVALSHA");
  EXPECT_FALSE(rig.breaker.open());
}

TEST_F(ValkeyClient, LeftWorkIsAskedForAtOnce) {
  make_ready();
  rig.submit(1);
  rig.advance();
  rig.sent();
  rig.answer(script_reply(1, true));
  const auto commands = rig.sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].operations(), 0U);
  rig.answer(refresh_reply());
  EXPECT_TRUE(rig.sent().empty());
}

TEST_F(ValkeyClient, ARefreshTellsWhoWasEnded) {
  make_ready();
  rig.client.refresh(0, rig.now);
  rig.advance();
  const auto commands = rig.sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].words.at(3 + 8 + 18), "1");
  EXPECT_EQ(commands[0].words.at(3 + 8 + 19), "5");
  std::string reply = script_reply(0);
  reply.replace(0, 3, "*22");
  reply += ":1\r\n:1\r\n" + bulk(std::string(16, '\x07')) + ":6\r\n:1\r\n" + bulk("\xcb\x71\x05") + ":1\r\n:11\r\n:12\r\n:13\r\n";
  rig.answer(reply);
  const auto reports = rig.client.take_reports();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_TRUE(reports[0].refreshed);
  ASSERT_EQ(reports[0].response.ended.size(), 1U);
  EXPECT_EQ(reports[0].response.ended[0].sid, sid_of(7));
  EXPECT_EQ(reports[0].response.ended[0].version, 6U);
  EXPECT_TRUE(reports[0].response.more_changes);
  ASSERT_EQ(reports[0].response.cuts.size(), 1U);
  EXPECT_EQ(reports[0].response.cuts[0].cut.network.size, 3);
  EXPECT_EQ(reports[0].response.cuts[0].at, 11);
}

TEST_F(ValkeyClient, CutsAreOrderedOneACall) {
  make_ready();
  rig.client.cut(1, 0, room::Cut{}, rig.now);
  rig.submit(2);
  rig.client.go_on(3, 0, 77, rig.now);
  rig.advance();
  auto commands = rig.sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].operations(), 1U);
  EXPECT_EQ(commands[0].words.at(3 + 8 + 21), "new");
  rig.answer(script_reply(1, false, false, true));
  const auto done = rig.client.take_completions();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].cut.id, 8U);
  EXPECT_EQ(done[0].cut.ended, 40U);
  EXPECT_EQ(done[1].answer.number, 100U);
  commands = rig.sent();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].words.at(3 + 8 + 21), "go");
  EXPECT_EQ(commands[0].words.at(3 + 8 + 24), "77");
}

}  // namespace
}  // namespace fairway::valkey::test
