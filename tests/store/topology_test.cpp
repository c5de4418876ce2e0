// A cluster of three and sentinels of three on loopback: redirects, a slot that moves under load, a failover.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "driver.h"
#include "server.h"

namespace fairway::test {
namespace {

using room::Kind;
using room::State;
using valkey::Outcome;

std::string url(std::uint16_t port) {
  return "valkey://127.0.0.1:" + std::to_string(port);
}

// Waits for something that other processes do.
template <typename Condition>
bool eventually(Condition condition, Micros patience = 30'000'000) {
  const Micros give_up = Driver::now() + patience;
  while (!condition()) {
    if (Driver::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

class StoreCluster : public testing::Test {
 protected:
  static constexpr std::size_t kSlots = 16384;

  struct Node {
    std::uint16_t port;
    std::unique_ptr<Server> server;
    std::unique_ptr<Connection> side;
    std::string id;
  };

  void SetUp() override {
    for (Node& node : nodes_) {
      node.port = free_port();
      node.server = std::make_unique<Server>(std::vector<std::string>{"--port", std::to_string(node.port), "--bind", "127.0.0.1",
                                                                      "--cluster-enabled", "yes", "--cluster-node-timeout", "5000"});
      node.side = std::make_unique<Connection>(*node.server);
      node.id = node.side->command({"CLUSTER", "MYID"}).text;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<std::string> words{"CLUSTER", "ADDSLOTS"};
      for (std::size_t slot = i * kSlots / 3; slot < (i + 1) * kSlots / 3; ++slot) words.push_back(std::to_string(slot));
      ASSERT_EQ(nodes_[i].side->command(words).text, "OK");
      nodes_[i].side->command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
      if (i > 0) nodes_[i].side->command({"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[0].port)});
    }
    ASSERT_TRUE(eventually([&] {
      return std::ranges::all_of(nodes_, [](Node& node) {
        const std::string info = node.side->command({"CLUSTER", "INFO"}).text;
        return info.find("cluster_state:ok") != std::string::npos && info.find("cluster_known_nodes:3") != std::string::npos;
      });
    }));
  }

  int slot_of(std::string_view room) {
    return static_cast<int>(nodes_[0].side->command({"CLUSTER", "KEYSLOT", "fairway:{" + std::string(room) + "}:state"}).integer);
  }
  std::size_t owner_of(int slot) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (nodes_[i].side->command({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).integer > 0) return i;
    }
    throw std::runtime_error("no node has the room");
  }

  Node nodes_[3];
};

TEST_F(StoreCluster, ARoomIsFoundFromAnySeed) {
  for (const Node& node : nodes_) {
    Driver driver({url(node.port), "timeout=10s"});
    const auto done = driver.ask(Kind::enter, node.port);
    EXPECT_EQ(done.outcome, Outcome::answered);
    EXPECT_EQ(done.answer.state, State::admitted);
    EXPECT_FALSE(driver.breaker.open());
  }
}

TEST_F(StoreCluster, ASlotMovesUnderLoad) {
  const int slot = slot_of("sale");
  Driver driver({url(nodes_[0].port), url(nodes_[1].port), "timeout=10s", "breaker=50ms"});
  driver.settings.capacity = 5;
  std::vector<room::Answer> before;
  for (std::uint64_t visitor = 0; visitor < 60; ++visitor) before.push_back(driver.ask(Kind::enter, visitor).answer);
  const std::size_t from = owner_of(slot);
  Node& source = nodes_[from];
  Node& target = nodes_[(from + 1) % 3];
  const std::string number = std::to_string(slot);
  target.side->command({"CLUSTER", "SETSLOT", number, "IMPORTING", source.id});
  source.side->command({"CLUSTER", "SETSLOT", number, "MIGRATING", target.id});
  // Nothing moved yet; keys that do not exist are asked for at the target, which has not all of them: try again.
  driver.submit(1, Kind::poll, 30, before[30].epoch, before[30].number);
  driver.run_until([&] { return !driver.completions().empty(); }, 30'000);
  const valkey::Value keys = source.side->command({"CLUSTER", "GETKEYSINSLOT", number, "100"});
  ASSERT_GE(keys.items.size(), 5U);
  for (const valkey::Value& key : keys.items) {
    const auto moved = source.side->command({"MIGRATE", "127.0.0.1", std::to_string(target.port), key.text, "0", "5000"});
    EXPECT_EQ(moved.text, "OK");
    driver.run_until([&] { return false; }, 10'000);
  }
  for (Node* node : {&target, &source}) EXPECT_EQ(node->side->command({"CLUSTER", "SETSLOT", number, "NODE", target.id}).text, "OK");
  ASSERT_TRUE(driver.run_until([&] { return driver.completions().size() == 1; }));
  EXPECT_EQ(driver.take()[0].outcome, Outcome::answered);
  EXPECT_FALSE(driver.breaker.open());
  for (std::uint64_t visitor = 5; visitor < 60; ++visitor) {
    const auto done = driver.ask(Kind::poll, visitor, before[visitor].epoch, before[visitor].number);
    ASSERT_EQ(done.outcome, Outcome::answered);
    EXPECT_EQ(done.answer.state, State::waiting);
    EXPECT_EQ(done.answer.rank, visitor - 4);
    EXPECT_EQ(done.answer.epoch, before[visitor].epoch) << "nothing was lost";
  }
}

TEST_F(StoreCluster, WithoutTheNodeOfItsRoomTheStoreIsDown) {
  Driver driver({url(nodes_[0].port), url(nodes_[1].port), url(nodes_[2].port), "timeout=10s", "breaker=50ms"});
  ASSERT_EQ(driver.ask(Kind::enter, 1).outcome, Outcome::answered);
  nodes_[owner_of(slot_of("sale"))].server->kill();
  EXPECT_TRUE(eventually([&] { return driver.ask(Kind::poll, 1).outcome != Outcome::answered; }));
  EXPECT_TRUE(driver.breaker.open());
}

TEST(StoreSentinel, AFailoverIsFollowed) {
  const std::uint16_t ports[] = {free_port(), free_port()};
  std::vector<std::unique_ptr<Server>> servers;
  for (const std::uint16_t port : ports) {
    std::vector<std::string> options{"--port", std::to_string(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"};
    if (port == ports[1]) options.insert(options.end(), {"--replicaof", "127.0.0.1", std::to_string(ports[0])});
    servers.push_back(std::make_unique<Server>(options));
  }
  Connection replica(*servers[1]);
  ASSERT_TRUE(eventually([&] { return replica.command({"INFO", "replication"}).text.find("master_link_status:up") != std::string::npos; }));

  std::vector<std::unique_ptr<Server>> sentinels;
  std::vector<std::unique_ptr<Connection>> sides;
  std::vector<std::string> words{"sentinel=shop", "timeout=10s", "breaker=50ms"};
  for (int i = 0; i < 3; ++i) {
    const std::uint16_t port = free_port();
    words.push_back(url(port));
    sentinels.push_back(std::make_unique<Server>(std::vector<std::string>{"--port", std::to_string(port), "--bind", "127.0.0.1"}, true));
    sides.push_back(std::make_unique<Connection>(*sentinels.back()));
    sides.back()->command({"SENTINEL", "MONITOR", "shop", "127.0.0.1", std::to_string(ports[0]), "2"});
    sides.back()->command({"SENTINEL", "SET", "shop", "down-after-milliseconds", "2000"});
    sides.back()->command({"SENTINEL", "SET", "shop", "failover-timeout", "5000"});
  }
  ASSERT_TRUE(eventually([&] {
    return std::ranges::all_of(sides, [](auto& side) {
      const valkey::Value master = side->command({"SENTINEL", "MASTER", "shop"});
      const auto field = [&](std::string_view name) {
        for (std::size_t i = 0; i + 1 < master.items.size(); i += 2) {
          if (master.items[i].text == name) return master.items[i + 1].text;
        }
        return std::string{};
      };
      return field("num-slaves") == "1" && field("num-other-sentinels") == "2";
    });
  }));

  Driver driver(words);
  driver.settings.capacity = 2;
  std::vector<room::Answer> before;
  for (std::uint64_t visitor = 0; visitor < 10; ++visitor) {
    const auto done = driver.ask(Kind::enter, visitor);
    ASSERT_EQ(done.outcome, Outcome::answered);
    before.push_back(done.answer);
  }
  ASSERT_TRUE(eventually([&] { return replica.command({"EXISTS", "fairway:{sale}:line"}).integer == 1; }));
  servers[0]->kill();
  ASSERT_TRUE(
      eventually([&] { return driver.ask(Kind::poll, 9, before[9].epoch, before[9].number).outcome == Outcome::answered; }, 60'000'000));
  for (std::uint64_t visitor = 2; visitor < 10; ++visitor) {
    const auto done = driver.ask(Kind::poll, visitor, before[visitor].epoch, before[visitor].number);
    EXPECT_EQ(done.outcome, Outcome::answered);
    EXPECT_EQ(done.answer.state, State::waiting);
    EXPECT_EQ(done.answer.number, before[visitor].number);
  }
  Connection promoted(*servers[1]);  // the sentinel closed the other connection
  const valkey::Value line = promoted.command({"ZRANGE", "fairway:{sale}:line", "0", "-1"});
  EXPECT_EQ(line.items.size(), 8U);
}

}  // namespace
}  // namespace fairway::test
