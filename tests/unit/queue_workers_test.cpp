// Several workers, dead workers, lost tables.
#include <cstring>

#include "queue_fixture.h"

namespace fairway::queue {
namespace {

class QueueWorkers : public testing::QueueTest {
 protected:
  Decision ask_as(std::uint32_t who, std::uint32_t number) { return queue->acquire({who, ++token, client(number), 1}, now); }
};

TEST_F(QueueWorkers, AGrantGoesToTheWorkerThatWaits) {
  make(1);
  const std::uint32_t second = *queue->register_worker({.pid = 2, .started = 7, .mailbox = 99});
  EXPECT_EQ(queue->worker(second)->mailbox, 99U);
  const Handle running = start(client(1));
  const Decision waiting = ask_as(second, 2);
  queue->take_wakes();
  end(running);
  const WorkerSet wakes = queue->take_wakes();
  EXPECT_TRUE(wakes.test(second));
  EXPECT_EQ(wakes.count(), 1U);
  EXPECT_TRUE(mail().empty());
  EXPECT_EQ(queue->next_mail(second, now)->handle, waiting.handle);
}

TEST_F(QueueWorkers, AnEvictedRequestsWorkerIsTold) {
  make({.concurrency = 1, .size = 2, .probation = false});
  const std::uint32_t second = *queue->register_worker({.pid = 2});
  start(client(1));
  ask_as(second, 2);
  const Decision newest = ask_as(second, 2);
  wait(client(3));
  EXPECT_TRUE(queue->take_wakes().test(second));
  const std::optional<Mail> letter = queue->next_mail(second, now);
  ASSERT_TRUE(letter.has_value());
  EXPECT_EQ(letter->kind, Mail::Kind::evicted);
  EXPECT_EQ(letter->handle, newest.handle);
}

TEST_F(QueueWorkers, ADeadWorkersSlotsAndPlacesAreFree) {
  make(2);
  const std::uint32_t second = *queue->register_worker({.pid = 2});
  ask_as(second, 1);
  ask_as(second, 2);
  ask_as(second, 3);
  const Handle mine = wait(client(4));
  pass(1 * s);
  queue->remove_worker(second, now);
  EXPECT_EQ(granted(), std::vector<Handle>{mine});
  EXPECT_EQ(queue->running(), 1U);
  EXPECT_EQ(queue->waiting(), 0U);
  EXPECT_EQ(queue->total(Status::cancelled), 1U);
  EXPECT_EQ(info(client(1)).cost, 1 * s);  // charged for the time it held the slot
  EXPECT_FALSE(info(client(1)).running);
  EXPECT_FALSE(queue->worker(second).has_value());
  queue->remove_worker(second, now);
  EXPECT_EQ(*queue->register_worker({.pid = 3}), second);
}

TEST_F(QueueWorkers, MailOfADeadWorkerIsPassedOn) {
  make(1);
  const std::uint32_t second = *queue->register_worker({.pid = 2});
  const Handle running = start(client(1));
  ask_as(second, 2);
  const Handle mine = wait(client(3));
  end(running);  // granted to the second worker, which dies before it looks
  queue->remove_worker(second, now);
  EXPECT_EQ(granted(), std::vector<Handle>{mine});
}

TEST_F(QueueWorkers, ThereIsAnEndToWorkers) {
  make(1);
  for (std::uint32_t i = 1; i < kMaxWorkers; ++i) EXPECT_TRUE(queue->register_worker({.pid = i + 1}).has_value());
  EXPECT_FALSE(queue->register_worker({.pid = 9999}).has_value());
}

TEST_F(QueueWorkers, AnotherProcessSeesTheSameQueue) {
  const Capacity capacity{.outer_flows = 16, .inner_flows = 16, .concurrency = 4, .size = 4};
  const std::size_t size = FairQueue::bytes_for(capacity);
  std::vector<std::byte> memory(2 * size + 64);
  void* block = memory.data();
  std::size_t room = memory.size();
  ASSERT_NE(std::align(64, size, block, room), nullptr);
  EXPECT_FALSE(FairQueue::attach(block, size).has_value());
  auto a = FairQueue::create(block, size, capacity, {.concurrency = 1, .size = 4}, {1, 2});
  auto b = FairQueue::attach(block, size);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(b->hash_key().k1, 2U);
  EXPECT_EQ(b->capacity(), capacity);
  const std::uint32_t w = *a->register_worker({.pid = 1});
  EXPECT_TRUE(b->worker(w).has_value());
  EXPECT_FALSE(FairQueue::attach(block, size - 1).has_value());
  auto* head = static_cast<Header*>(block);
  head->version += 1;
  EXPECT_FALSE(FairQueue::attach(block, size).has_value());
}

TEST_F(QueueWorkers, AProcessThatDiesInsideIsFound) {
  make(1);
  EXPECT_TRUE(queue->enter(1, now));
  queue->leave();
  EXPECT_TRUE(queue->enter(1, now));  // … and dies here
  const std::uint64_t before = queue->generation();
  EXPECT_FALSE(queue->enter(2, now));
  EXPECT_EQ(queue->generation(), before + 1);
  EXPECT_TRUE(queue->recovering());
  EXPECT_TRUE(queue->take_wakes().test(worker));
  EXPECT_EQ(queue->totals().rebuilds, 1U);
  queue->leave();
}

// After a loss everybody registers again what it runs and what waits. Nobody starts before that, the order of arrival stays.
TEST_F(QueueWorkers, LostTablesAreBuiltAgainFromWhatWorkersHold) {
  make(2);
  const std::uint32_t second = *queue->register_worker({.pid = 2});
  const Handle old = start(client(1));
  ask_as(second, 1);
  const Nanos t0 = now;
  queue->rebuild();
  EXPECT_EQ(queue->running(), 0U);
  EXPECT_FALSE(queue->release(old, {}, now).has_value());

  const Decision early = ask_as(worker, 9);  // a newcomer has to wait: who runs is not known
  EXPECT_EQ(early.kind, Decision::Kind::queued);
  const auto held = [&](std::uint32_t who, bool running, Nanos age) {
    return Held{.arrival = {who, ++token, client(2), 1}, .running = running, .arrived = t0 - age, .started = t0 - age};
  };
  const Handle a = queue->register_again(held(worker, true, 100 * ms), now);
  const Handle younger = queue->register_again(held(worker, false, 100 * ms), now);
  queue->registered(worker, now);
  EXPECT_TRUE(queue->recovering());
  EXPECT_EQ(queue->running(), 1U);
  EXPECT_TRUE(mail().empty());

  const Handle b = queue->register_again(held(second, true, 50 * ms), now);
  const Handle older = queue->register_again(held(second, false, 300 * ms), now);
  queue->registered(second, now);
  EXPECT_FALSE(queue->recovering());
  EXPECT_EQ(queue->running(), 2U);
  EXPECT_TRUE(mail().empty());  // both slots are taken
  EXPECT_EQ(queue->waiting(), 3U);

  pass(10 * ms);
  EXPECT_EQ(queue->release(a, {}, now), 110 * ms);
  EXPECT_EQ(granted(), std::vector<Handle>{early.handle});  // client 2 is charged for what it runs
  end(b);
  EXPECT_EQ(queue->next_mail(second, now)->handle, older);
  end(early.handle);
  EXPECT_EQ(granted(), std::vector<Handle>{younger});
}

TEST_F(QueueWorkers, RecoveryEndsWhenTheDeadAreRemoved) {
  make(2);
  const std::uint32_t second = *queue->register_worker({.pid = 2});
  queue->rebuild();
  queue->registered(worker, now);
  const Handle waiting = wait(client(1));
  EXPECT_TRUE(queue->recovering());
  queue->remove_worker(second, now);
  EXPECT_FALSE(queue->recovering());
  EXPECT_EQ(granted(), std::vector<Handle>{waiting});
  EXPECT_TRUE(queue->register_worker({.pid = 3}).has_value());
  EXPECT_FALSE(queue->recovering());  // a newborn holds nothing
}

// More than may wait now is registered again all the same: no waiter is lost.
TEST_F(QueueWorkers, RegisteringAgainIsNeverRefusedForWantOfPlaces) {
  make({.concurrency = 1, .size = 4, .probation = false});
  queue->rebuild();
  for (std::uint32_t i = 0; i < 4; ++i) wait(client(100 + i));
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_NE(queue->register_again({.arrival = {worker, ++token, client(i), 1}, .arrived = now - 1 * s}, now), 0U);
  }
  EXPECT_EQ(queue->waiting(), 8U);
  queue->registered(worker, now);
  EXPECT_EQ(queue->waiting(), 7U);
}

// Counters, limits and workers survive; debts and proofs do not.
TEST_F(QueueWorkers, WhatALossCosts) {
  make({.concurrency = 3, .size = 9});
  make_known(client(1));
  queue->rebuild();
  queue->registered(worker, now);
  EXPECT_EQ(queue->total(Status::direct), 4U);
  EXPECT_EQ(queue->limits().size, 9U);
  EXPECT_FALSE(queue->find(client(1), false).has_value());
}

}  // namespace
}  // namespace fairway::queue
