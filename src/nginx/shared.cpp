#include "nginx/shared.h"

#include <openssl/rand.h>

#include <algorithm>
#include <bitset>

#include "nginx/config.h"

namespace fairway::ngx {

namespace {

std::size_t page_aligned(std::size_t bytes) noexcept {
  return (bytes + ngx_pagesize - 1) / ngx_pagesize * ngx_pagesize;
}

// A fresh piece of the zone, page aligned: slab allocations above half a page are.
template <class Create>
auto carve(ngx_slab_pool_t* pool, std::size_t bytes, Create create) noexcept -> decltype(create(nullptr)) {
  void* block = ngx_slab_alloc(pool, page_aligned(bytes));
  return block == nullptr ? nullptr : create(block);
}

constexpr std::size_t kHistories = Shared::kRooms * sizeof(RoomHistory);

bool lay_out_store(ngx_slab_pool_t* pool, Shared& shared, std::size_t memory) noexcept {
  if (memory == 0) {
    shared.ranks = carve(pool, LastRanks::bytes(kRankEntries), [](void* block) { return LastRanks::create(block, kRankEntries); });
    return shared.ranks != nullptr;
  }
  shared.store = carve(pool, memory, [memory](void* block) { return MemoryStore::create(block, memory); });
  return shared.store != nullptr;
}

bool fits(const Shared& shared, std::size_t memory) noexcept {
  return memory == 0 ? shared.store == nullptr : shared.store != nullptr && MemoryStore::attach(shared.store, memory) != nullptr;
}

Shared* lay_out(ngx_slab_pool_t* pool, std::size_t memory) noexcept {
  auto* shared = static_cast<Shared*>(ngx_slab_calloc(pool, page_aligned(sizeof(Shared))));
  if (shared == nullptr || RAND_bytes(reinterpret_cast<unsigned char*>(&shared->hash_key), sizeof(SipKey)) != 1) {
    return nullptr;
  }
  shared->ended = carve(pool, EndedList::bytes(kEndedEntries), [](void* block) { return EndedList::create(block, kEndedEntries); });
  shared->entries = carve(pool, Limiter::bytes(kLimiterEntries), [](void* block) { return Limiter::create(block, kLimiterEntries); });
  shared->polls = carve(pool, Limiter::bytes(kLimiterEntries), [](void* block) { return Limiter::create(block, kLimiterEntries); });
  // Fresh pages of a zone are zero.
  shared->board = carve(pool, sizeof(Board), [](void* block) { return static_cast<Board*>(block); });
  shared->histories = carve(pool, kHistories, [](void* block) { return static_cast<RoomHistory*>(block); });
  shared->networks =
      carve(pool, sizeof(operate::SessionNetworks), [](void* block) { return static_cast<operate::SessionNetworks*>(block); });
  if (shared->networks == nullptr || shared->board == nullptr || shared->histories == nullptr || shared->ended == nullptr ||
      shared->entries == nullptr || shared->polls == nullptr || !lay_out_store(pool, *shared, memory)) {
    return nullptr;
  }
  shared->layout = Shared::kLayout;
  return shared;
}

using Rows = std::bitset<Shared::kRooms>;

// With the lock held; never one of the rows `taken`, unless it has that very name.
RoomRow* claim(Shared& shared, std::string_view name, const Rows& taken) noexcept {
  if (name.size() >= sizeof(RoomRow::name)) {
    return nullptr;
  }
  RoomRow* spare = nullptr;
  for (std::size_t i = 0; i < Shared::kRooms; ++i) {
    RoomRow& row = shared.rooms[i];
    if (row.name == name) {
      return &row;
    }
    if (taken[i]) {
      continue;
    }
    if (row.name[0] == '\0') {
      if (spare == nullptr || spare->name[0] != '\0') {
        spare = &row;
      }
    } else if (spare == nullptr || (spare->name[0] != '\0' && row.summary.now < spare->summary.now)) {
      spare = &row;
    }
  }
  if (spare == nullptr) {
    return nullptr;
  }
  *spare->name = '\0';
  new (spare) RoomRow{};
  ngx_memcpy(spare->name, name.data(), name.size());
  return spare;
}

}  // namespace

std::size_t shared_overhead(std::size_t memory) noexcept {
  const std::size_t parts = page_aligned(sizeof(Shared)) + page_aligned(sizeof(Board)) + page_aligned(sizeof(operate::SessionNetworks)) +
                            page_aligned(kHistories) + page_aligned(EndedList::bytes(kEndedEntries)) +
                            2 * page_aligned(Limiter::bytes(kLimiterEntries)) +
                            (memory == 0 ? page_aligned(LastRanks::bytes(kRankEntries)) : 0);
  return page_aligned(parts + (memory + parts) / 128 + 64 * ngx_pagesize);  // a slab page costs its pool 16 to 24 bytes
}

ngx_int_t init_zone(ngx_shm_zone_t* zone, void* old_data) noexcept {
  auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
  const auto memory = reinterpret_cast<std::size_t>(zone->data);  // set by the directives: bytes of store
  if (old_data != nullptr) {
    auto* shared = static_cast<Shared*>(old_data);
    if (shared->layout != Shared::kLayout || !fits(*shared, memory)) {
      ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                    "fairway: the running gateway's shared memory is of another version: restart nginx instead of reloading");
      return NGX_ERROR;
    }
    zone->data = shared;
    return NGX_OK;
  }
  Shared* shared = lay_out(pool, memory);
  if (shared == nullptr) {
    ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0, "fairway: cannot lay out %uz bytes of shared memory for the rooms", zone->shm.size);
    return NGX_ERROR;
  }
  pool->data = shared;
  pool->log_nomem = 0;
  zone->data = shared;
  return NGX_OK;
}

void begin_generation(MainConf& conf) noexcept {
  Shared* shared = shared_of(conf.zone);
  if (shared == nullptr) {
    return;
  }
  const std::uint64_t folder = siphash({0x66616972, 0x77617900}, conf.state.data, conf.state.len);
  const Lock lock(conf.zone);
  conf.generation = shared->generation.fetch_add(1) + 1;
  if (shared->folder != folder) {  // it has nothing yet
    shared->board->saved.store(0);
    shared->saved.store(0);
    shared->board->trouble.note(0, 0);
    shared->trouble.note(0, 0);
  }
  shared->folder = folder;
}

bool is_newest(const MainConf& conf) noexcept {
  return ngx_process == NGX_PROCESS_SINGLE || shared_of(conf.zone)->generation.load() == conf.generation;
}

RoomRow* claim_row(ngx_shm_zone_t* zone, std::string_view name) noexcept {
  Shared& shared = *shared_of(zone);
  const Lock lock(zone);
  return claim(shared, name, {});
}

std::vector<RoomRow*> claim_rows(ngx_shm_zone_t* zone, std::span<const std::string_view> names) {
  Shared& shared = *shared_of(zone);
  std::vector<RoomRow*> rows;
  rows.reserve(names.size());
  Rows taken;
  const Lock lock(zone);
  for (std::size_t i = 0; i < Shared::kRooms; ++i) {
    taken[i] = shared.rooms[i].name[0] != '\0' && std::ranges::find(names, std::string_view(shared.rooms[i].name)) != names.end();
  }
  for (const std::string_view name : names) {
    rows.push_back(claim(shared, name, taken));
    if (rows.back() != nullptr) {
      taken.set(static_cast<std::size_t>(rows.back() - shared.rooms));
    }
  }
  return rows;
}

}  // namespace fairway::ngx
