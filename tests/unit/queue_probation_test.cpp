// Probation: buckets, proof, what moves with it (H3, H4, H5, H11, H14).
#include "core/queue_clock.h"
#include "queue_fixture.h"

namespace fairway::queue {
namespace {

class Probation : public testing::QueueTest {
 protected:
  static Limits one_slot() { return {.concurrency = 1}; }
  std::uint32_t network_of(const FlowKeys& keys) const { return peek_network(tables(), keys); }
  std::uint32_t root_weight() const { return tables().flows[kRootBucket].weight; }
  std::uint32_t bucket_weight(const FlowKeys& keys) const { return tables().flows[tables().bucket_flow(network_of(keys))].weight; }
};

TEST_F(Probation, AKeyIsProvenWhenItComesBackAfterAnAnswer) {
  make(one_slot());
  const Handle first = start(client(1));
  wait(client(1));
  EXPECT_FALSE(info(client(1)).proven);  // came again, but had no answer yet
  end(first);
  EXPECT_FALSE(info(client(1)).proven);
  end(granted().at(0));
  use(client(1), 10 * ms);
  EXPECT_TRUE(info(client(1)).proven);
  EXPECT_TRUE(info(client(1), true).proven);
  const Handle stranger = start(client(1, 5));
  EXPECT_FALSE(info(client(1, 5), true).proven);
  end(stranger, {.finished = false});  // the upstream never answered
  use(client(1, 5), 10 * ms);
  EXPECT_FALSE(info(client(1, 5), true).proven);
}

// H3: inside the root bucket each unproven network is a flow of its own: a fresh visitor does not stand behind 100 fresh requests.
TEST_F(Probation, UnprovenNetworksTakeTurns) {
  make(one_slot());
  const Handle running = start(client(1));
  for (int i = 0; i < 100; ++i) wait(client(1));
  const Handle visitor = wait(client(2));
  pass(100 * ms);
  end(running);
  EXPECT_EQ(granted(), std::vector<Handle>{visitor});
}

// All of them together have one share (here: weight 1.41) beside a proven network's.
TEST_F(Probation, UnprovenNetworksTogetherAreOneFlow) {
  make(one_slot());
  make_known(client(1), 100 * ms);
  Handle running = start(client(1));
  int known = 0;
  for (int i = 0; i < 40; ++i) wait(client(1));
  for (std::uint32_t i = 0; i < 40; ++i) wait(client(100 + i % 2));
  for (int i = 0; i < 24; ++i) {
    pass(100 * ms);
    end(running);
    const std::vector<Mail> letters = mail();
    ASSERT_EQ(letters.size(), 1U);
    running = letters[0].handle;
    known += letters[0].token <= 45;  // the 45 first were the known client's
  }
  EXPECT_NEAR(known, 24 / 2.41, 2);
}

// H4: when a network is proven, everything it has waiting and running moves to its own flow.
TEST_F(Probation, WaitingAndRunningRequestsMoveWithTheProof) {
  make({.concurrency = 2});
  const Handle a = start(client(1));
  start(client(1));
  for (int i = 0; i < 5; ++i) wait(client(1, 0));
  for (int i = 0; i < 3; ++i) wait(client(1, 7));
  EXPECT_EQ(tables().flows[kRootBucket].waiting_count, 8U);
  pass(10 * ms);
  end(a);
  wait(client(1));
  EXPECT_EQ(tables().flows[kRootBucket].waiting_count, 0U);
  EXPECT_EQ(tables().flows[kRootBucket].running_count, 0U);
  const std::uint32_t network = network_of(client(1));
  const Flow& own = tables().flows[tables().network_flow(network)];
  EXPECT_EQ(own.waiting_count, 8U);  // one of the eight got the slot, one came
  EXPECT_EQ(own.running_count, 2U);
  EXPECT_EQ(tables().flows[tables().session_flow(peek_session(tables(), client(1).inner, network))].waiting_count, 5U);
  EXPECT_EQ(tables().flows[tables().bucket_flow(network)].waiting_count, 3U);
}

// A network leaves the bucket with the debt it had among the others there.
TEST_F(Probation, DebtComesAlongWithTheProof) {
  make({.concurrency = 4});
  const Handle other = start(client(2));
  const Handle h = start(client(1));
  pass(1 * ms);
  end(h, {.cost = 8 * s});  // moves the bucket's clock by half of it
  end(other, {.free = true});
  EXPECT_NEAR(static_cast<double>(info(client(1)).debt), 4e9, 1e7);
  const Decision back = ask(client(1));
  EXPECT_TRUE(info(client(1)).proven);
  EXPECT_NEAR(static_cast<double>(back.debt), 4e9, 1e7);
}

// The order of arrival survives the move.
TEST_F(Probation, MovedRequestsKeepTheirOrder) {
  make(one_slot());
  Handle running = start(client(1));
  std::vector<Handle> waiting;
  for (int i = 0; i < 6; ++i) {
    pass(1 * ms);
    waiting.push_back(wait(client(1)));
  }
  end(running);
  ASSERT_EQ(granted(), std::vector<Handle>{waiting[0]});
  waiting.push_back(wait(client(1)));  // proves network and key
  for (std::size_t i = 0; i + 1 < waiting.size(); ++i) {
    pass(10 * ms);
    end(waiting[i]);
    EXPECT_EQ(granted(), std::vector<Handle>{waiting[i + 1]});
  }
}

// H5: proof outlives debt; it lasts for an hour.
TEST_F(Probation, ProofOutlivesDebt) {
  make(one_slot());
  make_known(client(1));
  pass(3599 * s);
  const Handle h = start(client(1));
  EXPECT_TRUE(info(client(1)).proven);
  EXPECT_EQ(tables().flows[kRootBucket].running_count, 0U);
  end(h);
  pass(3600 * s);
  start(client(1));
  EXPECT_FALSE(info(client(1)).proven);
  EXPECT_FALSE(info(client(1), true).proven);
  EXPECT_EQ(tables().flows[kRootBucket].running_count, 1U);
}

// min(8, √networks waiting or running).
TEST_F(Probation, TheRootBucketWeighsTheRootOfItsNetworks) {
  make(one_slot());
  start(client(1));
  EXPECT_EQ(root_weight(), kWeightOne);
  for (std::uint32_t i = 2; i <= 4; ++i) wait(client(i));
  EXPECT_EQ(root_weight(), 2 * kWeightOne);
  for (std::uint32_t i = 5; i <= 9; ++i) wait(client(i));
  EXPECT_EQ(root_weight(), 3 * kWeightOne);
  for (std::uint32_t i = 10; i <= 100; ++i) wait(client(i));
  EXPECT_EQ(root_weight(), 8 * kWeightOne);
}

// Once a newcomer has waited for half the timeout, as much as its networks would weigh if proven, up to half of the proven ones.
TEST_F(Probation, NewcomersThatWaitLongWeighMore) {
  make(one_slot());
  for (std::uint32_t i = 0; i < 40; ++i) make_known(client(i));
  Handle running = start(client(0));
  for (std::uint32_t i = 1; i < 40; ++i) wait(client(i));
  for (std::uint32_t i = 100; i < 116; ++i) wait(client(i));
  EXPECT_EQ(root_weight(), 4 * kWeightOne);
  pass(4900 * ms);
  end(running);
  running = granted().at(0);
  EXPECT_EQ(root_weight(), 4 * kWeightOne);
  pass(200 * ms);
  end(running);
  running = granted().at(0);
  EXPECT_NEAR(root_weight(), 16 * kWeightOne, 0.1 * kWeightOne);
  for (std::uint32_t i = 116; i < 150; ++i) wait(client(i));
  EXPECT_GE(root_weight(), 18 * kWeightOne);
  EXPECT_LE(root_weight(), 20 * kWeightOne);  // half of the proven that are left
}

// H11: the key bucket weighs min(2, √keys).
TEST_F(Probation, TheKeyBucketWeighsTheRootOfItsKeys) {
  make(one_slot());
  make_known(client(1));
  start(client(1));
  wait(client(1, 1));
  EXPECT_EQ(bucket_weight(client(1)), kWeightOne);
  wait(client(1, 1));  // the same key again
  EXPECT_EQ(bucket_weight(client(1)), kWeightOne);
  wait(client(1, 2));
  EXPECT_EQ(bucket_weight(client(1)), 1448U);
  wait(client(1, 3));
  wait(client(1, 4));
  EXPECT_EQ(bucket_weight(client(1)), 2 * kWeightOne);
  for (std::uint32_t i = 5; i < 50; ++i) wait(client(1, i));
  EXPECT_EQ(bucket_weight(client(1)), 2 * kWeightOne);
}

// H14: a key that changes with each request stays on probation, all of them together.
TEST_F(Probation, ChangingKeysShareOneBucket) {
  make(one_slot());
  make_known(client(1));
  Handle running = start(client(1));
  for (std::uint32_t i = 0; i < 20; ++i) wait(client(1, 100 + i));
  const Handle steady = wait(client(1));
  for (int before = 0; running != steady; ++before) {
    ASSERT_LE(before, 3);  // the bucket weighs two, and came first
    pass(50 * ms);
    end(running);
    running = granted().at(0);
  }
  EXPECT_GE(tables().flows[tables().bucket_flow(network_of(client(1)))].waiting_count, 17U);
}

TEST_F(Probation, WithoutItEveryKeyHasItsOwnFlow) {
  make(plain(1));
  start(client(1));
  wait(client(2));
  wait(client(2, 1));
  EXPECT_EQ(tables().flows[kRootBucket].waiting_count, 0U);
  EXPECT_EQ(tables().flows[tables().bucket_flow(network_of(client(2)))].waiting_count, 0U);
}

}  // namespace
}  // namespace fairway::queue
