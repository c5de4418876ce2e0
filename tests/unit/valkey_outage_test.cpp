// The client of the Valkey store on a server that does not answer, or not as it should; and the breaker.
#include <gtest/gtest.h>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

constexpr Micros kBreaker = 3'000'000;

using ValkeyOutage = ReadyRig;

TEST_F(ValkeyOutage, ATimeoutFailsAllOnceAndOpensTheBreaker) {
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

TEST_F(ValkeyOutage, OneProbeAfterThePauseEndsTheOutage) {
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

TEST_F(ValkeyOutage, WhenAnotherWorkerNoticesAFailureNoCallIsBegun) {
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

TEST_F(ValkeyOutage, ErrorsThatMeanTheStoreIsDown) {
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

TEST_F(ValkeyOutage, AReplyNobodyAskedForCostsTheConnection) {
  make_ready();
  rig.answer("+hello\r\n");
  EXPECT_TRUE(rig.client.links().empty());
  EXPECT_TRUE(rig.breaker.open());
}

TEST_F(ValkeyOutage, OutOfMemoryIsBusyNeverDown) {
  make_ready();
  rig.submit(1);
  rig.advance();
  rig.sent();
  rig.answer("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::no_memory}}));
  EXPECT_FALSE(rig.breaker.open());
  EXPECT_EQ(rig.client.links().size(), 1U);
}

TEST_F(ValkeyOutage, GarbageBehindAnAnswerDoesNotSpoilIt) {
  make_ready();
  rig.submit(1, 0);
  rig.submit(2, 1);
  rig.advance();
  rig.answer(script_reply(1) + "garbage\r\n");
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}, {2, Outcome::failed}}));
}

TEST_F(ValkeyOutage, OneByteASecondIsATimeout) {
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

TEST_F(ValkeyOutage, AnIdleConnectionThatIsLostComesBackByItself) {
  make_ready();
  rig.close();
  EXPECT_FALSE(rig.breaker.open()) << "nobody was waiting: no failure";
  EXPECT_TRUE(rig.client.links().empty());
  ASSERT_GT(rig.client.deadline(), rig.now);
  rig.advance(rig.client.deadline() - rig.now);
  ASSERT_EQ(rig.client.links().size(), 1U);
  EXPECT_TRUE(rig.client.take_reports().empty());
  rig.close();
  EXPECT_TRUE(rig.breaker.open()) << "refused: that is one";
  EXPECT_TRUE(rig.outcomes().empty());
  const auto reports = rig.client.take_reports();
  ASSERT_EQ(reports.size(), 1U) << "so that it is counted and logged";
  EXPECT_EQ(reports[0].outcome, Outcome::failed);
  EXPECT_EQ(reports[0].failure, Failure::transport);
  EXPECT_EQ(reports[0].operations, 0U);
}

TEST_F(ValkeyOutage, ACallerDoesNotWaitForTheReconnect) {
  make_ready();
  rig.close();
  rig.submit(1);
  rig.advance();
  rig.open_all();
  EXPECT_EQ(rig.sent().at(0).operations(), 1U);
}

TEST_F(ValkeyOutage, LateEventsOfADeadConnectionAreIgnored) {
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

TEST_F(ValkeyOutage, TheReportCarriesTheOutageOfItsCall) {
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
