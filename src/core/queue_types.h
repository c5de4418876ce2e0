// The values that go in and out of a fair queue (fair_queue.h). Plain data.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/flow.h"

namespace fairway::queue {

using Nanos = std::int64_t;  // ns of one steady clock that all processes share (CLOCK_MONOTONIC); lasts 292 years
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

inline constexpr Nanos kTickPeriod = 100 * kMillisecond;  // how often tick() is wanted while needs_tick()

// How large the arrays are; chosen once, when the block is made.
struct Capacity {
  std::uint32_t outer_flows = 4096;   // records of networks; at least 1
  std::uint32_t inner_flows = 16384;  // records of sessions; at least 1
  std::uint32_t concurrency = 1024;   // the largest limits.concurrency ever
  std::uint32_t size = 4096;          // the largest limits.size ever

  bool operator==(const Capacity&) const = default;
};

enum class Order : std::uint8_t { fair, fifo };

// The settings; each may change at any time. Times in ns.
struct Limits {
  std::uint32_t concurrency = 0;  // requests running at once, 1 to capacity.concurrency
  std::uint32_t size = 256;       // requests waiting at most, 0 to capacity.size
  std::uint32_t light_lane = 0;   // slots kept for light flows, below concurrency; 0: off. See default_lane()
  Order order = Order::fair;      // fifo: by arrival, no lane, no eviction; charging stays
  bool probation = true;
  Nanos timeout = 10 * kSecond;  // longest wait; the caller keeps the timers
  Nanos burst = 20 * kMillisecond;
  Nanos max_debt = 5 * kSecond;
  Nanos debt_ttl = 30 * kSecond;
};

// ⌈concurrency / 8⌉; 0 when concurrency is 1, since nothing can be kept free then.
constexpr std::uint32_t default_lane(std::uint32_t concurrency) noexcept {
  return concurrency < 2 ? 0 : (concurrency + 7) / 8;
}

// Names a request of this queue until it has ended; never valid again afterwards. 0 is never a handle.
using Handle = std::uint64_t;

inline constexpr std::uint32_t kMaxWorkers = 256;  // processes at once, exiting ones of earlier configurations included
using WorkerSet = std::bitset<kMaxWorkers>;

// A process that uses the queue. `mailbox` is for the caller: where to send a wake.
struct WorkerIdentity {
  std::int64_t pid = 0;
  std::uint64_t started = 0;  // tells a process from a later one with the same pid
  std::uint64_t mailbox = 0;
};

// How a request ended its time before the upstream; each ends in exactly one.
enum class Status : std::uint8_t { direct, queued, full, evicted, timeout, cancelled, bypassed };
inline constexpr std::size_t kStatuses = 7;

struct Arrival {
  std::uint32_t worker = 0;
  std::uint64_t token = 0;  // the caller's own name for the request; comes back in Mail
  FlowKeys keys;
  std::uint64_t cost_class = 0;  // a hash of the location: requests of one class are taken to cost alike
};

struct Decision {
  enum class Kind : std::uint8_t { direct, queued, full };
  Kind kind = Kind::full;
  Handle handle = 0;              // direct, queued
  std::uint32_t retry_after = 0;  // full: seconds
  Nanos debt = 0;                 // of the network, before this request
};

// What a worker is told of a request that waited.
struct Mail {
  enum class Kind : std::uint8_t { granted, evicted };
  Kind kind = Kind::granted;
  Handle handle = 0;  // granted: release it; evicted: ended, for comparison only
  std::uint64_t token = 0;
  Nanos waited = 0;
  std::uint32_t retry_after = 0;  // evicted: seconds
};

// How a running request ended.
struct Outcome {
  std::optional<Nanos> cost;  // what the application reported; nullopt: the time the slot was held
  bool free = false;          // no upstream took part (cache hit, static file, error): costs nothing, teaches nothing
  bool finished = true;       // the upstream answered: the client has completed a request
};

enum class CancelResult : std::uint8_t {
  cancelled,  // ended as `cancelled`; a slot that was already granted has been passed on
  evicted,    // had already ended as `evicted`
  running,    // runs: release() it
  unknown,    // not a request of this queue
};

struct TimeoutResult {
  enum class Kind : std::uint8_t {
    timed_out,  // ended as `timeout`
    granted,    // the grant was on its way: the request runs now, its mail is withdrawn
    evicted,    // had already ended as `evicted`
    unknown,    // runs already, or not a request of this queue
  };
  Kind kind = Kind::unknown;
  std::uint32_t retry_after = 0;  // timed_out, evicted: seconds
  Nanos waited = 0;
};

// A request that its worker registers again after the tables were lost.
struct Held {
  Arrival arrival;
  bool running = false;  // else waiting
  Nanos arrived = 0;     // when acquire() was called first
  Nanos started = 0;     // running: when the slot was given
};

// One flow as operators see it. Costs and debts in ns.
struct FlowInfo {
  bool is_session = false;
  bool proven = false;
  OuterKey outer;
  std::uint64_t inner = 0;  // sessions only
  Nanos debt = 0;
  Nanos cost = 0;  // charged since the record was made
  std::uint32_t waiting = 0;
  std::uint32_t running = 0;
};

struct Percentiles {
  Nanos p50 = 0;
  Nanos p90 = 0;
  Nanos p99 = 0;
};

}  // namespace fairway::queue
