// What the workers of one gateway share, in one nginx zone: the store's block, and per room what the gateway remembers, the rate
// of admissions and counters; the ended list and the limiters. Plain data only; its layout carries a version, since after a
// reload old and new code may run on it together. One lock, nginx's own for the zone, which the master frees when its holder dies.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <string_view>
#include <vector>

#include "core/ended_list.h"
#include "core/last_ranks.h"
#include "core/limiter.h"
#include "core/pacing.h"
#include "core/room.h"
#include "core/siphash.h"
#include "core/token.h"
#include "nginx/board.h"
#include "nginx/ngx.h"
#include "nginx/one_address.h"
#include "nginx/store_stats.h"
#include "operate/cut_list.h"
#include "operate/session_networks.h"
#include "store/memory/memory_store.h"
#include "store/valkey/breaker.h"

namespace fairway::ngx {

struct MainConf;
struct RoomConf;

// $waiting_room_state: how a request was answered. The order is that of kOutcomeNames.
enum class Outcome : std::uint8_t { none, pass, refreshed, admitted, waiting, busy, closed, unavailable, fail_open, fresh, open, bypassed };
inline constexpr std::string_view kOutcomeNames[] = {"-",      "pass",        "refreshed", "admitted", "waiting", "busy",
                                                     "closed", "unavailable", "fail_open", "new",      "open",    "bypassed"};
inline constexpr std::size_t kOutcomes = std::size(kOutcomeNames);
inline constexpr std::size_t kTokenErrors = static_cast<std::size_t>(TokenError::wrong_network) + 1;

// Times from number to admission. Plain data, all zero: empty.
struct WaitStats {
  static constexpr std::array<std::int64_t, 13> kBounds = {1, 2, 5, 10, 30, 60, 120, 300, 600, 1'200, 1'800, 3'600, 7'200};  // s

  std::atomic<std::uint64_t> counts[kBounds.size() + 1];
  std::atomic<std::uint64_t> sum;  // ms

  void count(Micros wait) noexcept {
    const Micros shown = std::max<Micros>(wait, 0);  // the numbers of a burst may run ahead of the clock
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && shown > kBounds[bucket] * 1'000'000) {
      ++bucket;
    }
    counts[bucket].fetch_add(1, std::memory_order_relaxed);
    sum.fetch_add(static_cast<std::uint64_t>(shown / 1'000), std::memory_order_relaxed);
  }
};

// One room's row. `name` is written once; the rest changes under the lock, counters by themselves.
struct RoomRow {
  char name[40];                       // NUL-terminated; empty: free row
  std::atomic<std::uint32_t> current;  // which of `memories` holds: a writer that dies half-way leaves the other one true
  room::Memory memories[2];
  std::int64_t tokens_until;  // Unix seconds: when the last token given out expires; then the epoch is forgotten
  RateEstimator rate;
  room::Summary summary;  // of the latest call
  std::atomic<std::uint64_t> answers[kOutcomes];
  WaitStats waits;  // of those whom this gateway let in
  std::atomic<std::uint64_t> store_calls;
  std::atomic<std::uint64_t> store_full;  // operations the store had no memory for
  operate::CutList cuts;
  std::atomic<std::int64_t> held_post;   // Unix seconds: when a POST from another site or a program was held last
  std::atomic<std::int64_t> poll_flood;  // Unix seconds: when kPollFlood questions were refused within a second last
  std::atomic<std::int64_t> passed_on;   // Unix seconds: when a session was found in too many networks last
  std::int64_t refused_second;           // of the polls refused lately
  std::uint32_t refused_polls;           // in that second
  // Of a shared store:
  std::atomic<std::uint64_t> told_outage;    // Breaker::outages() when the latest answered call was begun
  std::atomic<std::uint64_t> changes_since;  // version up to which it is known who was ended

  const room::Memory& memory() const noexcept { return memories[current.load(std::memory_order_acquire) & 1]; }
  // No token of the room counts any more, so nothing has to be remembered.
  bool idle_since_last_token(std::int64_t now) const noexcept { return tokens_until < now && summary.inside == 0 && summary.waiting == 0; }
  void remember(const room::Memory& memory) noexcept {
    const std::uint32_t next = current.load(std::memory_order_relaxed) ^ 1;
    memories[next & 1] = memory;
    current.store(next, std::memory_order_release);
  }
};

inline constexpr std::uint32_t kPollFlood = 100;

struct Shared {
  static constexpr std::uint64_t kLayout = 0x66616972'00000004;  // "fair", version
  static constexpr std::size_t kRooms = 256;

  std::uint64_t layout;
  SipKey hash_key;  // random at start: for tables whose keys clients choose
  RoomRow rooms[kRooms];
  std::atomic<std::uint64_t> token_errors[kTokenErrors];
  std::atomic<std::int64_t> last_tick;      // ms; one worker a second does the housekeeping
  std::atomic<std::uint64_t> saved;         // EndedList::version of the last saved state
  SaveTrouble trouble;                      // with the saved state
  std::atomic<std::uint64_t> generation;    // of the newest configuration; raised under the lock
  std::uint64_t folder;                     // hash of its state folder's name; of the master
  std::atomic<std::int64_t> last_full_log;  // Unix seconds; one line a minute about a full store
  OneAddress one_address;                   // of requests that ask a room
  std::atomic<bool> restored;               // the saved state was read into this zone
  EndedList* ended;
  Limiter* entries;    // new sessions per address
  Limiter* polls;      // questions per session
  MemoryStore* store;  // nullptr: the store is a shared one
  // Of a shared store:
  valkey::Breaker breaker;
  StoreStats store_stats;
  std::atomic<std::uint64_t> logged_outage;     // Breaker::outages() of the latest outage in the log
  std::atomic<std::int64_t> last_outage_log;    // Unix seconds
  std::atomic<bool> outage_said;                // that it is over is to be said, too
  std::atomic<std::int64_t> last_sync;          // ms; one worker twice a second looks for changed settings
  std::atomic<bool> settings_not_shared;        // the store answers, and yet they cannot be given to it or taken from it
  std::uint32_t other_gateways;                 // of the store, seen in the last minute; this and the next two under the lock
  bool key_unknown;                             // one of them does not have the key that this gateway signs with
  char foreign_keys[128];                       // ids of keys that they sign with and this gateway does not have; NUL-terminated
  std::atomic<std::int64_t> last_settings_log;  // Unix seconds
  LastRanks* ranks;
  // Of the operators:
  operate::SessionNetworks* networks;  // under the lock
  Board* board;
  RoomHistory* histories;                   // kRooms of them, in the order of `rooms`; under the lock
  std::atomic<std::uint64_t> cuts_made;     // tells whether a saved copy of all cuts is stale
  std::atomic<std::int64_t> last_recorded;  // Unix seconds
};

inline constexpr std::size_t kEndedEntries = 65'536;
inline constexpr std::size_t kLimiterEntries = 65'536;
inline constexpr std::size_t kRankEntries = 262'144;
// What a zone needs beyond `memory` bytes of store (nginx's page table for it included); 0 bytes: the store is a shared one.
std::size_t shared_overhead(std::size_t memory) noexcept;

// Callback of the zone: lays it out when it is new, checks the layout when it is not. Runs before the new configuration is accepted.
ngx_int_t init_zone(ngx_shm_zone_t* zone, void* old_data) noexcept;

// The master's first word on a configuration that counts from now on: what older workers would still publish or save is refused.
void begin_generation(MainConf& conf) noexcept;
// Whether no later configuration counts. Exact with the zone's lock held; without it, it may change at any moment.
bool is_newest(const MainConf& conf) noexcept;

inline Shared* shared_of(ngx_shm_zone_t* zone) noexcept {
  return zone == nullptr ? nullptr : static_cast<Shared*>(zone->data);
}

// The zone's lock, held for the guard's life. No call out, no logging, no system call while it is held.
class Lock {
 public:
  explicit Lock(ngx_shm_zone_t* zone) noexcept : mutex_(&reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr)->mutex) {
    ngx_shmtx_lock(mutex_);
  }
  ~Lock() { ngx_shmtx_unlock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  ngx_shmtx_t* mutex_;
};

// The row of a room by name; a free one (or the one longest unused) when there is none. Takes the lock.
RoomRow* claim_row(ngx_shm_zone_t* zone, std::string_view name) noexcept;
// Those of all rooms in use, so that none of them takes another's. nullptr for one that is left over when there are more than kRooms.
std::vector<RoomRow*> claim_rows(ngx_shm_zone_t* zone, std::span<const std::string_view> names);

}  // namespace fairway::ngx
