// The client of the Valkey store against scripted servers: batching, deadlines, errors, redirects, the breaker.
#include <gtest/gtest.h>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

constexpr Micros kTimeout = 250'000;
constexpr Micros kBreaker = 3'000'000;

class ValkeyClient : public testing::Test {
 protected:
  // A client with a connection that is up, and nothing under way.
  void make_ready() {
    rig.client.refresh(0, rig.now);
    rig.advance();
    rig.open_all();
    ASSERT_EQ(rig.sent().size(), 1U);
    rig.answer(refresh_reply());
    ASSERT_EQ(rig.client.take_reports().size(), 1U);
  }
  static std::string refresh_reply() { return script_reply(0, false, true, false); }

  Rig rig{{"valkey://one"}};
};

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

TEST_F(ValkeyClient, ATimeoutFailsAllOnceAndOpensTheBreaker) {
  make_ready();
  rig.submit(1);
  rig.advance();
  rig.submit(2);
  rig.advance(kTimeout - 1);
  EXPECT_TRUE(rig.outcomes().empty());
  rig.advance(1);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}, {2, Outcome::failed}}));
  EXPECT_TRUE(rig.client.links().empty()) << "whatever comes late on it belongs to nobody";
  const auto reports = rig.client.take_reports();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].failure, Failure::timeout);
  EXPECT_EQ(reports[0].took, kTimeout);

  for (Micros t = 0; t < kBreaker; t += 100'000) {
    rig.submit(3);
    rig.advance();
    EXPECT_EQ(rig.outcomes(), (Outcomes{{3, Outcome::refused}})) << t;
    EXPECT_TRUE(rig.client.links().empty());
    EXPECT_EQ(rig.client.deadline(), 0);
    rig.now += 100'000;
  }
}

TEST_F(ValkeyClient, OneProbeAfterThePauseEndsTheOutage) {
  make_ready();
  rig.submit(1);
  rig.advance();
  rig.close();
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  rig.now += kBreaker + kBreaker / 10;
  rig.submit(2);
  rig.advance();
  ASSERT_EQ(rig.client.links().size(), 1U);
  rig.submit(3, 1);
  rig.advance();
  EXPECT_EQ(rig.outcomes(), (Outcomes{{3, Outcome::refused}})) << "one probe, not one a room";
  rig.open_all();
  EXPECT_EQ(rig.sent().at(0).operations(), 1U);
  rig.submit(4);
  rig.advance();
  EXPECT_EQ(rig.outcomes(), (Outcomes{{4, Outcome::refused}}));
  rig.answer(script_reply(1));
  EXPECT_EQ(rig.outcomes(), (Outcomes{{2, Outcome::answered}}));
  EXPECT_FALSE(rig.breaker.open());
  rig.submit(5, 1);
  rig.advance();
  EXPECT_EQ(rig.sent().at(0).operations(), 1U);
}

TEST_F(ValkeyClient, WhenAnotherWorkerNoticesAFailureNoCallIsBegun) {
  make_ready();
  rig.submit(1);
  rig.advance();
  rig.submit(2);
  rig.breaker.failed(rig.breaker.ask(rig.now, 1), rig.now, kBreaker);
  rig.advance();
  EXPECT_EQ(rig.outcomes(), (Outcomes{{2, Outcome::refused}}));
  rig.answer(script_reply(1));
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}})) << "the call that was under way still counts";
  EXPECT_TRUE(rig.breaker.open());
}

TEST_F(ValkeyClient, ErrorsThatMeanTheStoreIsDown) {
  const std::pair<std::string_view, Failure> errors[] = {
      {"-LOADING Redis is loading the dataset in memory\r\n", Failure::loading},
      {"-READONLY You can't write against a read only replica.\r\n", Failure::readonly},
      {"-MASTERDOWN Link with MASTER is down\r\n", Failure::master_down},
      {"-NOAUTH Authentication required.\r\n", Failure::no_auth},
      {"-CLUSTERDOWN The cluster is down\r\n", Failure::cluster_down},
      {"-ERR value is not an integer\r\n", Failure::error},
      {"+OK\r\n", Failure::protocol},
      {"*1\r\n:1\r\n", Failure::protocol},
      {"HTTP/1.1 200 OK\r\n", Failure::protocol},
  };
  for (const auto& [bytes, failure] : errors) {
    make_ready();
    rig.submit(1);
    rig.advance();
    rig.sent();
    rig.answer(bytes);
    EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}})) << bytes;
    const auto reports = rig.client.take_reports();
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0].failure, failure) << bytes;
    EXPECT_TRUE(rig.breaker.open());
    EXPECT_TRUE(rig.client.links().empty());
    rig.now += 2 * kBreaker;
  }
}

TEST_F(ValkeyClient, AReplyNobodyAskedForCostsTheConnection) {
  make_ready();
  rig.answer("+hello\r\n");
  EXPECT_TRUE(rig.client.links().empty());
  EXPECT_TRUE(rig.breaker.open());
}

TEST_F(ValkeyClient, OutOfMemoryIsBusyNeverDown) {
  make_ready();
  rig.submit(1);
  rig.advance();
  rig.sent();
  rig.answer("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::no_memory}}));
  EXPECT_FALSE(rig.breaker.open());
  EXPECT_EQ(rig.client.links().size(), 1U);
}

TEST_F(ValkeyClient, GarbageBehindAnAnswerDoesNotSpoilIt) {
  make_ready();
  rig.submit(1, 0);
  rig.submit(2, 1);
  rig.advance();
  rig.answer(script_reply(1) + "garbage\r\n");
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}, {2, Outcome::failed}}));
}

TEST_F(ValkeyClient, OneByteASecondIsATimeout) {
  make_ready();
  rig.submit(1);
  rig.advance();
  const std::string reply = script_reply(1);
  for (std::size_t i = 0; i < reply.size() && !rig.client.links().empty(); ++i) {
    rig.client.received(rig.link()->id(), reply.substr(i, 1), rig.now);
    rig.advance(1'000'000);
  }
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
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
  reply.replace(0, 3, "*21");
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

TEST_F(ValkeyClient, AnIdleConnectionThatIsLostComesBackByItself) {
  make_ready();
  rig.close();
  EXPECT_FALSE(rig.breaker.open()) << "nobody was waiting: no failure";
  EXPECT_TRUE(rig.client.links().empty());
  ASSERT_GT(rig.client.deadline(), rig.now);
  rig.advance(rig.client.deadline() - rig.now);
  ASSERT_EQ(rig.client.links().size(), 1U);
  rig.close();
  EXPECT_TRUE(rig.breaker.open()) << "refused: that is one";
  EXPECT_TRUE(rig.outcomes().empty());
}

TEST_F(ValkeyClient, ACallerDoesNotWaitForTheReconnect) {
  make_ready();
  rig.close();
  rig.submit(1);
  rig.advance();
  rig.open_all();
  EXPECT_EQ(rig.sent().at(0).operations(), 1U);
}

TEST_F(ValkeyClient, LateEventsOfADeadConnectionAreIgnored) {
  make_ready();
  const Link::Id id = rig.link()->id();
  rig.submit(1);
  rig.advance(kTimeout + 1);
  rig.submit(2);
  rig.client.received(id, script_reply(1), rig.now);
  rig.client.closed(id, rig.now);
  rig.client.opened(id);
  rig.advance();
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}, {2, Outcome::refused}}));
}

TEST_F(ValkeyClient, TheReportCarriesTheOutageOfItsCall) {
  make_ready();
  rig.submit(1);
  rig.advance();
  rig.close();
  rig.client.take_reports();
  rig.now += 2 * kBreaker;
  rig.submit(2);
  rig.advance();
  rig.open_all();
  rig.answer(script_reply(1));
  const auto reports = rig.client.take_reports();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].outage, 1U);
  EXPECT_EQ(reports[0].outage, rig.breaker.outages());
}

}  // namespace
}  // namespace fairway::valkey::test
