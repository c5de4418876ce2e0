// Records of networks and sessions: caps, what is dropped first (H6), overflow, collisions.
#include "core/queue_tables.h"

#include "core/queue_clock.h"
#include "queue_fixture.h"

namespace fairway::queue {
namespace {

class QueueTables : public testing::QueueTest {
 protected:
  static constexpr Capacity kSmall{.outer_flows = 4, .inner_flows = 8, .concurrency = 16, .size = 64};
  static Limits small(std::uint32_t concurrency, bool probation) { return {.concurrency = concurrency, .size = 8, .probation = probation}; }
  bool known(std::uint32_t number) const { return queue->find(client(number), false).has_value(); }
};

// H6: networks that never came back go first, oldest first; proven ones stay.
TEST_F(QueueTables, WhoNeverCameBackIsDroppedFirst) {
  make(small(1, true), kSmall);
  make_known(client(1));
  use(client(2), 10 * ms);
  use(client(3), 10 * ms);
  make_known(client(4));
  use(client(5), 10 * ms);
  EXPECT_FALSE(known(2));
  use(client(6), 10 * ms);
  EXPECT_FALSE(known(3));
  for (std::uint32_t i = 7; i < 40; ++i) use(client(i), 10 * ms);
  EXPECT_TRUE(info(client(1)).proven);
  EXPECT_TRUE(info(client(4)).proven);
  EXPECT_EQ(queue->totals().dropped_networks, 35U);
}

TEST_F(QueueTables, ThenWhoHasPaidThenTheOldestDebtor) {
  make(small(2, false), {.outer_flows = 3, .inner_flows = 64, .concurrency = 16, .size = 64});
  const Handle pin = start(client(50));  // stays: it runs
  const Handle h = start(client(1));
  pass(1 * ms);
  end(h, {.cost = 4 * s});  // a debtor, the oldest record
  use(client(2), 1 * ms);   // has paid
  use(client(3), 1 * ms);
  EXPECT_TRUE(known(1));
  EXPECT_FALSE(known(2));
  end(pin);
}

TEST_F(QueueTables, ARecordInUseIsNeverDropped) {
  make(small(16, false), kSmall);
  std::vector<Handle> handles;
  for (std::uint32_t i = 0; i < 16; ++i) handles.push_back(start(client(i)));  // nobody is refused
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(info(client(i)).running, 1U);
  for (std::uint32_t i = 4; i < 16; ++i) EXPECT_FALSE(known(i));
  std::uint32_t shared = 0;
  for (std::uint32_t i = 4; i < 4 + kOverflowNetworks; ++i) shared += tables().flows[tables().network_flow(i)].running_count;
  EXPECT_EQ(shared, 12U);
  EXPECT_EQ(tables().flows[kRootBucket].running_count, 12U);
  for (const Handle h : handles) end(h);
  use(client(20), 1 * ms);
  EXPECT_TRUE(known(20));
}

TEST_F(QueueTables, SessionsBeyondTheTableShareTheKeyBucket) {
  make(small(16, false), {.outer_flows = 4, .inner_flows = 2, .concurrency = 16, .size = 64});
  std::vector<Handle> handles;
  for (std::uint32_t i = 0; i < 6; ++i) handles.push_back(start(client(1, i)));
  EXPECT_EQ(tables().flows[tables().bucket_flow(peek_network(tables(), client(1)))].running_count, 4U);
  EXPECT_FALSE(queue->find(client(1, 3), true).has_value());
  for (const Handle h : handles) end(h);
}

// A session of a dropped network keeps its proof; its debt was that of the old record.
TEST_F(QueueTables, ASessionOutlivesItsNetworksRecord) {
  make(small(1, true), {.outer_flows = 2, .inner_flows = 64, .concurrency = 4, .size = 8});
  make_known(client(1));
  make_known(client(2));
  make_known(client(3));  // the first record has to go: nobody owes anything
  EXPECT_FALSE(known(1));
  const Handle h = start(client(1));
  EXPECT_FALSE(info(client(1)).proven);
  EXPECT_TRUE(info(client(1), true).proven);
  end(h);
}

TEST_F(QueueTables, EqualDigestsInTwoNetworksAreTwoSessions) {
  make(plain(4));
  const FlowKeys a{queue->hash_key(), network(1), 42};
  const FlowKeys b{queue->hash_key(), network(2), 42};
  const Handle ha = start(a);
  const Handle hb = start(b);
  EXPECT_EQ(info(a, true).outer, network(1));
  EXPECT_EQ(info(b, true).outer, network(2));
  end(ha);
  end(hb);
}

// Prefixes are compared in full: an equal hash is not enough.
TEST_F(QueueTables, EqualHashesAreTwoNetworks) {
  make(plain(4));
  FlowKeys a = client(1);
  FlowKeys b = client(2);
  b.outer_hash = a.outer_hash;
  const Handle ha = start(a);
  const Handle hb = start(b);
  EXPECT_EQ(info(a).outer, network(1));
  EXPECT_EQ(info(b).outer, network(2));
  EXPECT_EQ(queue->running(), 2U);
  end(ha);
  end(hb);
}

// The debt of a dropped debtor goes to the record it would share.
TEST_F(QueueTables, DroppedDebtIsNotForgotten) {
  make(small(2, false), {.outer_flows = 2, .inner_flows = 64, .concurrency = 4, .size = 8});
  const Handle pin = start(client(50));
  const Handle h = start(client(1));
  pass(1 * ms);
  end(h, {.cost = 8 * s});
  const Nanos debt = info(client(1)).debt;
  EXPECT_NEAR(static_cast<double>(debt), 4e9, 1e7);
  use(client(2), 1 * ms);
  EXPECT_FALSE(known(1));
  Nanos shared = 0;
  for (std::uint32_t i = 2; i < 2 + kOverflowNetworks; ++i) shared = std::max(shared, flow_debt(tables(), tables().network_flow(i)));
  EXPECT_NEAR(static_cast<double>(shared), static_cast<double>(debt), 1e7);
  end(pin);
}

// T27: keys made to collide under an unkeyed hash spread like any others, since the hash is keyed: chains stay short.
TEST_F(QueueTables, CraftedKeysDoNotCollide) {
  make({.concurrency = 1, .size = 1, .probation = false}, {.outer_flows = 4096, .inner_flows = 16384, .concurrency = 1, .size = 1});
  const std::uint32_t chains = chain_count(16384);
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    InnerKey key(network(i / 4));
    const std::uint64_t crafted = std::uint64_t{i} * chains;  // all in one chain, were they taken as they are
    key.add({reinterpret_cast<const char*>(&crafted), sizeof crafted});
    const FlowKeys keys{queue->hash_key(), network(i / 4), key.digest(queue->hash_key())};
    use(keys, 1 * ms);
  }
  std::uint32_t longest = 0;
  for (std::uint32_t c = 0; c < chains; ++c) {
    std::uint32_t length = 0;
    for (std::uint32_t i = tables().session_heads[c]; i != kNone; i = tables().sessions[i].next) ++length;
    longest = std::max(longest, length);
  }
  EXPECT_LE(longest, 8U);
}

// T8: memory is bounded and known in advance.
TEST_F(QueueTables, TheDefaultTablesAreSmall) {
  EXPECT_LE(FairQueue::bytes_for({.outer_flows = 4096, .inner_flows = 16384, .concurrency = 64, .size = 256}), 5U << 20);
}

}  // namespace
}  // namespace fairway::queue
