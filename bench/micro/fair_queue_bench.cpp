// What the fair queue costs, with full tables: 4,096 networks of 4 sessions each, all known to it. Time is virtual.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "core/fair_queue.h"

namespace {

using namespace fairway;
using namespace fairway::queue;

constexpr std::uint32_t kNetworks = 4096;
constexpr std::uint32_t kSessions = 4;  // of each network: 16,384 in all

struct FreeBlock {
  void operator()(void* block) const noexcept { ::operator delete (block, std::align_val_t{64}); }
};

FlowKeys keys_of(const SipKey& key, std::uint32_t network, std::uint32_t session) {
  const std::array<std::uint8_t, 4> address{10, static_cast<std::uint8_t>(network >> 8), static_cast<std::uint8_t>(network), 1};
  const std::uint64_t number = std::uint64_t{network} << 32 | session;
  return {key, outer_key(ClientAddress::v4(address), 24, 56), siphash(key, &number, sizeof number)};
}

// A queue that every client has used twice, so that all are proven and the tables are full.
struct Bench {
  std::unique_ptr<void, FreeBlock> block;
  std::optional<FairQueue> queue;
  std::vector<FlowKeys> clients;
  std::uint32_t worker = 0;
  Nanos now = kSecond;
  std::uint64_t step = 0;

  explicit Bench(std::uint32_t concurrency, std::uint32_t size) {
    const Capacity capacity{.outer_flows = kNetworks, .inner_flows = kNetworks * kSessions, .concurrency = 64, .size = 4096};
    const std::size_t bytes = FairQueue::bytes_for(capacity);
    block.reset(::operator new (bytes, std::align_val_t{64}));
    const Limits limits{.concurrency = concurrency, .size = size, .light_lane = default_lane(concurrency)};
    queue = FairQueue::create(block.get(), bytes, capacity, limits, {3, 4});
    worker = *queue->register_worker({.pid = 1});
    for (std::uint32_t s = 0; s < kSessions; ++s) {
      for (std::uint32_t n = 0; n < kNetworks; ++n) clients.push_back(keys_of(queue->hash_key(), n, s));
    }
    for (int round = 0; round < 4; ++round) {
      for (const FlowKeys& keys : clients) {
        now += kMillisecond;
        const Decision d = queue->acquire({worker, 0, keys, 1}, now);
        now += 20 * kMillisecond;
        queue->release(d.handle, {}, now);
      }
    }
    // From now on in an order that has nothing to do with where their records lie.
    std::shuffle(clients.begin(), clients.end(), std::mt19937(1));
  }

  const FlowKeys& next_client() { return clients[step++ % clients.size()]; }
};

void TakeAndRelease(benchmark::State& state) {
  Bench bench(8, 256);
  for (auto _ : state) {
    bench.now += 20 * kMillisecond;
    const Decision d = bench.queue->acquire({bench.worker, 0, bench.next_client(), 1}, bench.now);
    bench.queue->release(d.handle, {}, bench.now + 10 * kMillisecond);
  }
}
BENCHMARK(TakeAndRelease);

void TakeAndReleaseSameClient(benchmark::State& state) {
  Bench bench(8, 256);
  for (auto _ : state) {
    bench.now += 20 * kMillisecond;
    const Decision d = bench.queue->acquire({bench.worker, 0, bench.clients[7], 1}, bench.now);
    bench.queue->release(d.handle, {}, bench.now + 10 * kMillisecond);
  }
}
BENCHMARK(TakeAndReleaseSameClient);

// One request ends, the next of the waiting ones gets its slot, and another client joins the queue, which stays `waiting` long.
void EnqueueAndDispatch(benchmark::State& state) {
  const auto waiting = static_cast<std::uint32_t>(state.range(0));
  Bench bench(8, 4096);
  std::vector<Handle> running;
  std::size_t next_to_end = 0;
  while (bench.queue->waiting() < waiting) {
    const Decision d = bench.queue->acquire({bench.worker, 0, bench.next_client(), 1}, bench.now);
    if (d.kind == Decision::Kind::direct) running.push_back(d.handle);
  }
  for (auto _ : state) {
    bench.now += 2 * kMillisecond;
    bench.queue->release(running[next_to_end], {}, bench.now);
    const auto mail = bench.queue->next_mail(bench.worker, bench.now);
    running[next_to_end] = mail->handle;
    next_to_end = (next_to_end + 1) % running.size();
    benchmark::DoNotOptimize(bench.queue->acquire({bench.worker, 0, bench.next_client(), 1}, bench.now));
  }
  state.counters["waiting"] = bench.queue->waiting();
}
BENCHMARK(EnqueueAndDispatch)->Arg(10)->Arg(64)->Arg(256)->Arg(1024);

// The queue is full: one more arrival makes the newest request of the longest flow go, or is refused.
void ArriveWhenFull(benchmark::State& state) {
  Bench bench(8, 256);
  while (bench.queue->waiting() < 256) bench.queue->acquire({bench.worker, 0, bench.clients[bench.queue->waiting() % 16], 1}, bench.now);
  for (auto _ : state) {
    bench.now += kMillisecond;
    benchmark::DoNotOptimize(bench.queue->acquire({bench.worker, 0, bench.next_client(), 1}, bench.now));
    while (bench.queue->next_mail(bench.worker, bench.now)) {
    }
  }
}
BENCHMARK(ArriveWhenFull);

}  // namespace
