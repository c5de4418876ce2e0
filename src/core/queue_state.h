// The memory of a fair queue: one block of arrays whose lengths are fixed when it is made. Records are plain data linked by index;
// nothing in the block points anywhere, so several processes may map it at different addresses. Internal to the core.
//
// The tree that is scheduled has two levels of *flows*:
//
//   root level                            flows that compete for slots
//    ├─ root bucket            flow 0     all unproven networks together; its level is 1
//    │   └─ unproven network   1 + n      each is one flow of the bucket's level
//    └─ proven network         1 + n      its level is 2 + n
//        ├─ key bucket         1 + N + n  all unproven keys of network n together
//        └─ proven session     1 + 2N + s
//
// Requests wait in flows of the lower level (inner flows); n and s index networks and sessions, N is the number of network records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/queue_histogram.h"
#include "core/queue_list.h"
#include "core/queue_types.h"

namespace fairway::queue {

inline constexpr std::uint32_t kLayoutVersion = 2;      // grows whenever a record below changes
inline constexpr std::uint32_t kOverflowNetworks = 64;  // shared records for when the table is full of busy networks
inline constexpr std::uint32_t kCostClasses = 256;
inline constexpr std::uint32_t kWeightOne = 1024;  // weights are in 1/1024, so that their sums stay exact
inline constexpr std::uint32_t kRootLevel = 0;
inline constexpr std::uint32_t kBucketLevel = 1;
inline constexpr std::uint32_t kRootBucket = 0;
inline constexpr Nanos kNever = -(Nanos{1} << 62);  // a time before all times

// One competitor of a level.
struct alignas(64) Flow {
  Nanos settled = 0;          // cost charged and settled ÷ weight, on the scale of its level's clock
  Nanos idle_since = kNever;  // when its last request left
  List waiting;               // inner flows: requests, oldest first
  List running;               // requests, through their outer or inner link
  Link sibling;               // among the flows of its level that have requests waiting
  std::uint32_t level = kRootLevel;
  std::uint32_t weight = kWeightOne;
  std::uint32_t waiting_count = 0;
  std::uint32_t running_count = 0;
};

// A set of flows that share what their parent gets, and the virtual time their costs are compared with.
struct alignas(64) Level {
  Nanos clock = 0;            // virtual time, ns of slot time per weight
  Nanos at = 0;               // when the clock was last moved
  Nanos per_slot = 0;         // ∫ dt ÷ weights: how far one running request has moved the clock
  List waiting;               // flows with requests waiting, in the order in which they began to
  std::uint32_t weights = 0;  // of the active flows: those with requests waiting or running
  std::uint32_t active = 0;   // how many they are
  std::uint32_t running = 0;  // requests
};

// What the light lane knows of one key or group of keys (light_lane.h).
struct Meter {
  Nanos at = 0;
  Nanos size = 0;      // keys: decaying maximum of slot time; groups: moving average
  Nanos light_at = 0;  // when use and size have decayed below the thresholds, if nothing runs until then
  float use = 0;       // decaying average of slots held
  std::uint32_t running = 0;
};

struct Age {
  Link link;
};

struct alignas(64) Network {
  // What every request needs, in one cache line.
  OuterKey key;
  bool used = false;  // false: in the free list
  bool proven = false;
  std::uint32_t next = kNone;  // hash chain, or free list
  std::uint32_t requests = 0;  // waiting or running; such a record is never dropped
  std::uint32_t finished = 0;  // requests that completed, saturating
  std::uint32_t serial = 0;    // tells the record from earlier ones in this place
  Nanos last_used = 0;
  Nanos average = 0;  // cost of a request
  Nanos cost = 0;     // charged in total
  // The rest.
  std::uint64_t hash = 0;  // of the key
  std::uint32_t keys = 0;  // distinct unproven keys with requests in the key bucket
  Nanos booked = 0;        // next free moment not yet promised to a refused request
  Meter young;             // its unproven and young keys together
};

struct alignas(64) Session {
  std::uint64_t digest = 0;
  bool used = false;
  bool proven = false;
  std::uint32_t next = kNone;
  std::uint32_t network = kNone;
  std::uint32_t network_serial = 0;
  std::uint32_t requests = 0;
  std::uint32_t in_bucket = 0;  // how many of them are in the key bucket of the network
  std::uint32_t finished = 0;
  Nanos last_used = 0;
  Nanos average = 0;
  Nanos cost = 0;
  std::uint32_t light = kNone;  // its running light request
  Meter own;
};

enum class State : std::uint8_t { unused, waiting, granted, running, evicted };  // granted, evicted: its worker has not read the mail

struct alignas(64) Request {
  std::uint64_t token = 0;
  std::uint64_t cost_class = 0;
  std::uint64_t number = 0;  // order of arrival
  Nanos arrived = 0;
  Nanos started = 0;
  Nanos estimate = 0;    // reserved while it runs
  Nanos outer_mark = 0;  // per_slot of its levels when it started
  Nanos inner_mark = 0;
  std::uint32_t serial = 0;
  std::uint32_t worker = kNone;
  std::uint32_t network = kNone;
  std::uint32_t session = kNone;  // kNone when the table was full
  std::uint32_t outer = kNone;    // flows
  std::uint32_t inner = kNone;
  std::uint32_t retry_after = 0;  // evicted
  State state = State::unused;
  bool light = false;         // started as light and has not run over yet
  bool counts_young = false;  // which group meters count it
  bool counts_bucket = false;
  Link outer_link;  // waiting: all waiting requests by arrival; running: the outer flow's
  Link inner_link;  // waiting: the inner flow's; running: the inner flow's; unused: free list
  Link light_link;  // running and light: by start
  Link mail_link;
};

struct Worker {
  std::uint64_t used = 0;  // written last, so that a half-written row is no row
  WorkerIdentity identity;
  List mail;
  bool must_register = false;  // has not yet told what it holds since the tables were lost
};

struct CostClass {
  std::uint64_t id = 0;
  Nanos maximum = 0;
  Nanos at = 0;
};

// Counters that only grow; they survive the loss of the tables.
struct Totals {
  std::array<std::uint64_t, kStatuses> by_status{};
  std::uint64_t rebuilds = 0;
  std::uint64_t dropped_networks = 0;  // records pushed out by newer ones
  std::uint64_t dropped_sessions = 0;
  Histogram waits;  // of requests that got a slot
  Histogram costs;  // charged to requests that an upstream took part in
  RecentHistogram recent_waits;
};

struct Lane {
  List light;                      // running light requests, by start
  std::uint32_t others = 0;        // running requests that are not light (any more)
  std::uint64_t last_key = 0;      // whose light request arrived last
  Nanos last = kNever;             // when
  Nanos last_by_another = kNever;  // when one of another key did
  Meter bucket;                    // the root bucket
};

// Everything that is empty in an empty queue.
struct Heart {
  double paid = 1e9;  // decaying sums over finished requests: cost, at most the time the slot was held, and that time
  double held = 1e9;
  Lane lane;
  List waiting;  // all waiting requests by arrival
  std::uint32_t waiting_count = 0;
  Nanos booked = 0;  // of the root bucket
  List free_requests;
  std::uint32_t free_networks = kNone;
  std::uint32_t free_sessions = kNone;
  std::array<List, 2> idle_networks;  // unproven, proven; oldest first
  std::array<List, 2> idle_sessions;
  std::uint64_t arrivals = 0;      // numbers given
  std::uint32_t unregistered = 0;  // workers that have not yet told what they hold; nothing is dispatched until then
};

struct Header {
  std::uint64_t magic = 0;  // written last
  std::uint32_t version = 0;
  std::uint32_t mutator = 0;  // pid that is changing the block; 0: nobody
  std::uint64_t generation = 1;
  Capacity capacity;
  Limits limits;
  SipKey key;
  Nanos now = 0;             // latest time seen
  std::uint32_t serial = 0;  // last one given to a request or network
  std::uint64_t random = 0;
  Heart heart;
  Totals totals;
};

// One process's view of the block: where the arrays begin, and whom this process has yet to wake.
struct Tables {
  Header* head = nullptr;
  Flow* flows = nullptr;
  Level* levels = nullptr;
  Network* networks = nullptr;
  Session* sessions = nullptr;
  Age* network_ages = nullptr;  // links of the idle lists, kept apart so that they stay in the cache
  Age* session_ages = nullptr;
  std::uint32_t* network_heads = nullptr;  // hash chains
  std::uint32_t* session_heads = nullptr;
  Request* requests = nullptr;
  CostClass* classes = nullptr;
  Worker* workers = nullptr;
  WorkerSet wakes;

  Heart& heart() const noexcept { return head->heart; }
  const Limits& limits() const noexcept { return head->limits; }
  Nanos now() const noexcept { return head->now; }

  std::uint32_t network_count() const noexcept { return head->capacity.outer_flows + kOverflowNetworks; }
  std::uint32_t network_flow(std::uint32_t network) const noexcept { return 1 + network; }
  std::uint32_t bucket_flow(std::uint32_t network) const noexcept { return 1 + network_count() + network; }
  std::uint32_t session_flow(std::uint32_t session) const noexcept { return 1 + 2 * network_count() + session; }
  std::uint32_t network_level(std::uint32_t network) const noexcept { return 2 + network; }
  // The level whose flows share what the outer flow `flow` gets.
  std::uint32_t inside(std::uint32_t flow) const noexcept { return flow + 1; }
};

std::size_t bytes_for(const Capacity& capacity) noexcept;
std::uint32_t request_count(const Capacity& capacity) noexcept;
std::uint32_t chain_count(std::uint32_t records) noexcept;  // power of two

// Where the arrays of a block with this capacity lie.
Tables map_block(void* block, const Capacity& capacity) noexcept;
// Empties all tables; settings, key, counters, generation and workers stay.
void clear_tables(Tables& t) noexcept;

}  // namespace fairway::queue
