// A fair queue on the heap with a clock that tests move, and short names for what its clients do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/fair_queue.h"
#include "core/queue_tables.h"

namespace fairway::queue::testing {

class QueueTest : public ::testing::Test {
 protected:
  static constexpr Nanos ms = kMillisecond;
  static constexpr Nanos s = kSecond;

  // No lane and no probation unless a test is about them.
  void make(Limits limits, const Capacity& capacity = {.outer_flows = 256, .inner_flows = 1024, .concurrency = 64, .size = 512}) {
    size_ = FairQueue::bytes_for(capacity);
    block_.reset(::operator new (size_, std::align_val_t{64}));
    queue = FairQueue::create(block_.get(), size_, capacity, limits, {11, 12});
    ASSERT_TRUE(queue.has_value());
    worker = *queue->register_worker({.pid = 1});
  }
  void make(std::uint32_t concurrency) { make(plain(concurrency)); }
  static Limits plain(std::uint32_t concurrency) { return {.concurrency = concurrency, .probation = false}; }

  static OuterKey network(std::uint32_t number) {
    const std::array<std::uint8_t, 4> address{10, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number), 9};
    return outer_key(ClientAddress::v4(address), 24, 56);
  }
  // Client `session` of network `number`.
  FlowKeys client(std::uint32_t number, std::uint32_t session = 0) const {
    return {queue->hash_key(), network(number), std::uint64_t{number} << 32 | (session + 1)};
  }

  Decision ask(const FlowKeys& keys, std::uint64_t cost_class = 1) { return queue->acquire({worker, ++token, keys, cost_class}, now); }
  Handle start(const FlowKeys& keys, std::uint64_t cost_class = 1) {
    const Decision d = ask(keys, cost_class);
    EXPECT_EQ(d.kind, Decision::Kind::direct);
    return d.handle;
  }
  Handle wait(const FlowKeys& keys, std::uint64_t cost_class = 1) {
    const Decision d = ask(keys, cost_class);
    EXPECT_EQ(d.kind, Decision::Kind::queued);
    return d.handle;
  }
  void end(Handle handle, const Outcome& outcome = {}) { EXPECT_TRUE(queue->release(handle, outcome, now).has_value()); }
  void pass(Nanos time) { now += time; }
  // A request that runs for `time`.
  void use(const FlowKeys& keys, Nanos time, std::uint64_t cost_class = 1) {
    const Handle handle = start(keys, cost_class);
    pass(time);
    end(handle);
  }
  // A client that has come back after an answer, `times` times in all.
  void make_known(const FlowKeys& keys, Nanos time = 20 * kMillisecond, int times = 4) {
    for (int i = 0; i < times; ++i) use(keys, time);
  }
  std::vector<Mail> mail() {
    std::vector<Mail> all;
    while (const auto one = queue->next_mail(worker, now)) all.push_back(*one);
    return all;
  }
  // The handles that were granted since the last call.
  std::vector<Handle> granted() {
    std::vector<Handle> handles;
    for (const Mail& one : mail()) {
      if (one.kind == Mail::Kind::granted) handles.push_back(one.handle);
    }
    return handles;
  }

  FlowInfo info(const FlowKeys& keys, bool session = false) const { return queue->find(keys, session).value_or(FlowInfo{}); }
  const Tables& tables() const { return queue->tables(); }
  const Network& network_record(const FlowKeys& keys) const { return tables().networks[peek_network(tables(), keys)]; }
  const Session& session_record(const FlowKeys& keys) const {
    return tables().sessions[peek_session(tables(), keys.inner, peek_network(tables(), keys))];
  }

  std::optional<FairQueue> queue;
  std::uint32_t worker = 0;
  std::uint64_t token = 0;
  Nanos now = 1000 * kSecond;

 private:
  struct FreeBlock {
    void operator()(void* block) const noexcept { ::operator delete (block, std::align_val_t{64}); }
  };
  std::size_t size_ = 0;
  std::unique_ptr<void, FreeBlock> block_;
};

}  // namespace fairway::queue::testing
