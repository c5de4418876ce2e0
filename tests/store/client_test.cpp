// The client and the script against a real server: what a gateway meets in operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "driver.h"
#include "rooms.h"

namespace fairway::test {
namespace {

using room::Kind;
using room::State;
using valkey::Outcome;

std::string unix_url(const Server& server) {
  return "unix:" + server.socket();
}

// The client's time limits in these tests; long enough for a busy machine.
const std::string kTimeout = "timeout=10s";
const std::string kBreaker = "breaker=1s";

TEST(StoreClient, ACrowdIsAnsweredInItsOrder) {
  Server server;
  Driver driver({unix_url(server), kTimeout});
  for (std::uint64_t id = 0; id < 2000; ++id) driver.submit(id, Kind::enter, id);
  ASSERT_TRUE(driver.run_until([&] { return driver.completions().size() == 2000; }, 60'000'000));
  std::uint64_t inside = 0;
  for (const valkey::Completion& done : driver.take()) {
    ASSERT_EQ(done.outcome, Outcome::answered);
    EXPECT_EQ(done.answer.state, done.id < 10 ? State::admitted : State::waiting) << done.id;
    inside += done.answer.state == State::admitted;
  }
  EXPECT_EQ(inside, 10U);
  EXPECT_LE(driver.reports.size(), 2000 / 256 + 2U) << "operations share calls";
  EXPECT_EQ(driver.ask(Kind::poll, 1999).answer.rank, 1990U);
}

TEST(StoreClient, ScriptFlushIsInvisible) {
  Server server;
  Connection side(server);
  Driver driver({unix_url(server), kTimeout});
  for (std::uint64_t visitor = 0; visitor < 20; ++visitor) {
    side.command({"SCRIPT", "FLUSH"});
    EXPECT_EQ(driver.ask(Kind::enter, visitor).outcome, Outcome::answered);
  }
  EXPECT_FALSE(driver.breaker.open());
}

TEST(StoreClient, EveryKeyHasAnExpiryAndTheRoomOneSlot) {
  Server server;
  Connection side(server);
  Driver driver({unix_url(server), kTimeout});
  driver.settings.rate = 5;
  driver.settings.rate_window = 60'000'000;
  driver.settings.capacity = 2;
  for (std::uint64_t visitor = 0; visitor < 5; ++visitor) driver.ask(Kind::enter, visitor);
  driver.ask(Kind::release, 0);
  const valkey::Value keys = side.command({"KEYS", "*"});
  EXPECT_EQ(keys.items.size(), 7U) << "all but the lost ones";
  for (const valkey::Value& key : keys.items) {
    EXPECT_EQ(key.text.substr(0, 15), "fairway:{sale}:");
    EXPECT_GT(side.command({"PTTL", key.text}).integer, 3'600'000) << key.text;
  }
}

TEST(StoreClient, AnEvictedKeyIsALossOfTheWholeThatRecovers) {
  for (const std::string_view key : {"state", "line", "due", "inside", "session", "ended"}) {
    Server server;
    Connection side(server);
    Driver driver({unix_url(server), kTimeout});
    driver.settings.capacity = 2;
    const auto first = driver.ask(Kind::enter, 0);
    driver.ask(Kind::enter, 1);
    const auto third = driver.ask(Kind::enter, 2);
    driver.ask(Kind::enter, 3);
    driver.ask(Kind::release, 1);
    ASSERT_EQ(side.command({"DEL", "fairway:{sale}:" + std::string(key)}).integer, 1) << key;
    const auto back = driver.ask(Kind::enter, 2, third.answer.epoch, third.answer.number);
    ASSERT_EQ(back.outcome, Outcome::answered) << key;
    EXPECT_EQ(back.answer.state, State::waiting) << key;
    EXPECT_EQ(back.answer.number, third.answer.number) << key;
    EXPECT_GT(back.answer.epoch, first.answer.epoch) << key;
    EXPECT_TRUE(back.summary.recovering) << key;
  }
}

TEST(StoreClient, AFullServerIsBusyForNewcomersAndNobodyElse) {
  Server server({"--maxmemory-policy", "noeviction"});
  Connection side(server);
  Driver driver({unix_url(server), kTimeout});
  driver.settings.capacity = 1;
  const auto inside = driver.ask(Kind::enter, 0);
  const auto waiting = driver.ask(Kind::enter, 1);
  ASSERT_EQ(waiting.answer.state, State::waiting);
  side.command({"CONFIG", "SET", "maxmemory", "1"});

  EXPECT_EQ(driver.ask(Kind::enter, 2).answer.state, State::no_memory);
  EXPECT_EQ(driver.ask(Kind::heartbeat, 3).answer.state, State::no_memory);
  EXPECT_EQ(driver.ask(Kind::enter, 4, inside.answer.epoch, inside.answer.number).answer.state, State::no_memory);
  const auto same = driver.ask(Kind::poll, 1);
  EXPECT_EQ(same.answer.state, State::waiting);
  EXPECT_EQ(same.answer.rank, 1U);
  EXPECT_EQ(same.answer.number, waiting.answer.number);
  EXPECT_EQ(driver.ask(Kind::heartbeat, 0, inside.answer.epoch, inside.answer.number).answer.state, State::admitted);
  // Who is inside may leave, and who waits comes in.
  EXPECT_EQ(driver.ask(Kind::release, 0).answer.state, State::released);
  EXPECT_EQ(driver.ask(Kind::poll, 1).answer.state, State::admitted);
  EXPECT_EQ(driver.ask(Kind::enter, 0).answer.state, State::gone);
  EXPECT_EQ(driver.breaker.outages(), 0U);

  side.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(driver.ask(Kind::enter, 2).answer.state, State::waiting);
}

TEST(StoreClient, AnEmptyServerThatIsFullIsBusy) {
  Server server({"--maxmemory-policy", "noeviction", "--maxmemory", "1"});
  Driver driver({unix_url(server), kTimeout});
  const auto done = driver.ask(Kind::enter, 0);
  EXPECT_EQ(done.outcome, Outcome::answered);
  EXPECT_EQ(done.answer.state, State::no_memory);
  EXPECT_FALSE(driver.breaker.open());
}

TEST(StoreClient, ACrashIsNoticedOnceAndTheLineComesBack) {
  Server server;
  Driver driver({unix_url(server), kTimeout, kBreaker});
  driver.settings.capacity = 2;
  std::vector<valkey::Completion> before;
  for (std::uint64_t visitor = 0; visitor < 8; ++visitor) before.push_back(driver.ask(Kind::enter, visitor));
  server.kill();
  driver.run_until([] { return false; }, 50'000);  // the idle connection is found closed, and the new one refused
  EXPECT_NE(driver.ask(Kind::poll, 3).outcome, Outcome::answered);
  EXPECT_TRUE(driver.breaker.open());
  const std::size_t calls = driver.reports.size();
  EXPECT_EQ(driver.ask(Kind::poll, 3).outcome, Outcome::refused);
  EXPECT_EQ(driver.reports.size(), calls) << "no call is begun in the pause";
  server.start();
  ASSERT_TRUE(driver.run_until([&] { return driver.ask(Kind::poll, 9).outcome == Outcome::answered; }, 10'000'000));
  // In any order of coming back: the old order, with the old numbers, and those inside are inside.
  for (const std::uint64_t visitor : {7U, 2U, 5U, 3U, 6U, 4U}) {
    const auto done = driver.ask(Kind::poll, visitor, before[visitor].answer.epoch, before[visitor].answer.number);
    EXPECT_EQ(done.answer.state, State::waiting);
    EXPECT_EQ(done.answer.number, before[visitor].answer.number);
  }
  EXPECT_EQ(driver.ask(Kind::heartbeat, 0, before[0].answer.epoch, before[0].answer.number).answer.state, State::admitted);
  Connection side(server);
  const valkey::Value line = side.command({"ZRANGE", "fairway:{sale}:line", "0", "-1"});
  ASSERT_EQ(line.items.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(static_cast<std::size_t>(line.items[i].text[15]), 2 + i);
}

TEST(StoreClient, FlushallWithManyWaiting) {
  Server server;
  Connection side(server);
  Driver driver({unix_url(server), kTimeout});
  driver.settings.capacity = 50;
  constexpr std::uint64_t kCrowd = 1000;
  std::vector<room::Answer> before(kCrowd);
  for (std::uint64_t id = 0; id < kCrowd; ++id) driver.submit(id, Kind::enter, id);
  ASSERT_TRUE(driver.run_until([&] { return driver.completions().size() == kCrowd; }, 60'000'000));
  for (const valkey::Completion& done : driver.take()) before[done.id] = done.answer;
  side.command({"FLUSHALL"});
  for (std::uint64_t i = 0; i < kCrowd; ++i) {
    const std::uint64_t id = i * 7 % kCrowd;  // all of them, in another order
    driver.submit(id, before[id].state == State::admitted ? Kind::heartbeat : Kind::poll, id, before[id].epoch, before[id].number);
  }
  ASSERT_TRUE(driver.run_until([&] { return driver.completions().size() == kCrowd; }, 60'000'000));
  for (const valkey::Completion& done : driver.take()) {
    EXPECT_EQ(done.answer.state, before[done.id].state);
    EXPECT_EQ(done.answer.number, before[done.id].number);
    EXPECT_LE(done.summary.inside, 50U);
  }
  EXPECT_EQ(driver.memory.inside, 50U);
  EXPECT_EQ(driver.memory.waiting, kCrowd - 50);
}

TEST(StoreClient, PasswordUserAndDatabase) {
  const std::uint16_t port = free_port();
  Server server({"--port", std::to_string(port), "--bind", "127.0.0.1", "--requirepass", "sec/ret"});
  const std::string at = "@127.0.0.1:" + std::to_string(port);
  {
    Driver driver({"valkey://:sec%2Fret" + at + "/5", kTimeout});
    EXPECT_EQ(driver.ask(Kind::enter, 0).outcome, Outcome::answered);
  }
  Connection side(server);
  side.command({"AUTH", "sec/ret"});
  side.command({"ACL", "SETUSER", "gate", "on", ">pass", "~fairway:*", "+@all", "-@dangerous"});
  {
    Driver driver({"valkey://gate:pass" + at, kTimeout});
    EXPECT_EQ(driver.ask(Kind::enter, 0).outcome, Outcome::answered);
  }
  EXPECT_EQ(side.command({"DBSIZE"}).integer, 3);
  side.command({"SELECT", "5"});
  EXPECT_EQ(side.command({"DBSIZE"}).integer, 3);
  Driver wrong({"valkey://:wrong" + at, kTimeout});
  EXPECT_EQ(wrong.ask(Kind::enter, 0).outcome, Outcome::failed);
  EXPECT_EQ(wrong.reports.back().failure, valkey::Failure::no_auth);
  Driver none({"valkey://" + at.substr(1), kTimeout});
  EXPECT_EQ(none.ask(Kind::enter, 0).outcome, Outcome::failed);
  EXPECT_EQ(none.reports.back().failure, valkey::Failure::no_auth);
}

TEST(StoreClient, AReplicaIsReadonly) {
  Server server;
  Connection side(server);
  Driver driver({unix_url(server), kTimeout});
  EXPECT_EQ(driver.ask(Kind::enter, 0).outcome, Outcome::answered);
  side.command({"CONFIG", "SET", "replica-serve-stale-data", "yes"});
  side.command({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EQ(driver.ask(Kind::enter, 1).outcome, Outcome::failed);
  EXPECT_EQ(driver.reports.back().failure, valkey::Failure::readonly);
  EXPECT_TRUE(driver.breaker.open());
}

TEST(StoreClient, TheClockIsTheServers) {
  Server server;
  Driver driver({unix_url(server), kTimeout});
  const auto wall = [] {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  };
  const Micros before = wall();
  const Micros now = driver.ask(Kind::enter, 0).summary.now;
  EXPECT_GE(now, before - 1000);
  EXPECT_LE(now, wall() + 1000);
}

}  // namespace
}  // namespace fairway::test
