#include "core/queue_state.h"

#include <bit>
#include <memory>
#include <type_traits>

namespace fairway::queue {
namespace {

static_assert(std::is_trivially_copyable_v<Header> && std::is_trivially_copyable_v<Request> && std::is_trivially_copyable_v<Flow> &&
              std::is_trivially_copyable_v<Level> && std::is_trivially_copyable_v<Network> && std::is_trivially_copyable_v<Session> &&
              std::is_trivially_copyable_v<Worker> && std::is_trivially_copyable_v<CostClass>);

constexpr std::size_t kAlign = 64;  // a cache line

// Hands out the parts of a block one after the other; with a null block it only measures.
struct Cutter {
  std::byte* block;
  std::size_t used = 0;

  template <class Record>
  Record* cut(std::size_t count) noexcept {
    std::byte* part = block == nullptr ? nullptr : block + used;
    used += (count * sizeof(Record) + kAlign - 1) / kAlign * kAlign;
    return reinterpret_cast<Record*>(part);
  }
};

Tables cut_block(Cutter& cutter, const Capacity& capacity) noexcept {
  const std::size_t networks = capacity.outer_flows + kOverflowNetworks;
  Tables t;
  t.head = cutter.cut<Header>(1);
  t.flows = cutter.cut<Flow>(1 + 2 * networks + capacity.inner_flows);
  t.levels = cutter.cut<Level>(2 + networks);
  t.networks = cutter.cut<Network>(networks);
  t.sessions = cutter.cut<Session>(capacity.inner_flows);
  t.network_ages = cutter.cut<Age>(networks);
  t.session_ages = cutter.cut<Age>(capacity.inner_flows);
  t.network_heads = cutter.cut<std::uint32_t>(chain_count(capacity.outer_flows));
  t.session_heads = cutter.cut<std::uint32_t>(chain_count(capacity.inner_flows));
  t.requests = cutter.cut<Request>(request_count(capacity));
  t.classes = cutter.cut<CostClass>(kCostClasses);
  t.workers = cutter.cut<Worker>(kMaxWorkers);
  return t;
}

void clear_networks(Tables& t) noexcept {
  const std::uint32_t records = t.head->capacity.outer_flows;
  std::uninitialized_fill_n(t.network_heads, chain_count(records), kNone);
  std::uninitialized_fill_n(t.networks, t.network_count(), Network{});
  std::uninitialized_fill_n(t.network_ages, t.network_count(), Age{});
  for (std::uint32_t i = 0; i < records; ++i) t.networks[i].next = i + 1 < records ? i + 1 : kNone;
  for (std::uint32_t i = records; i < t.network_count(); ++i) {  // the overflow networks always exist, and are never proven
    t.networks[i].used = true;
    t.flows[t.network_flow(i)].level = kBucketLevel;
    t.flows[t.bucket_flow(i)].level = t.network_level(i);
  }
  t.heart().free_networks = 0;
}

void clear_sessions(Tables& t) noexcept {
  const std::uint32_t records = t.head->capacity.inner_flows;
  std::uninitialized_fill_n(t.session_heads, chain_count(records), kNone);
  std::uninitialized_fill_n(t.sessions, records, Session{});
  std::uninitialized_fill_n(t.session_ages, records, Age{});
  for (std::uint32_t i = 0; i < records; ++i) t.sessions[i].next = i + 1 < records ? i + 1 : kNone;
  t.heart().free_sessions = 0;
}

}  // namespace

// Beyond those running and waiting there may be evicted ones whose workers have not read their mail yet.
std::uint32_t request_count(const Capacity& capacity) noexcept {
  return capacity.concurrency + 2 * capacity.size + 64;
}

std::uint32_t chain_count(std::uint32_t records) noexcept {
  return std::bit_ceil(records) * 2;
}

std::size_t bytes_for(const Capacity& capacity) noexcept {
  Cutter cutter{nullptr};
  cut_block(cutter, capacity);
  return cutter.used;
}

Tables map_block(void* block, const Capacity& capacity) noexcept {
  Cutter cutter{static_cast<std::byte*>(block)};
  return cut_block(cutter, capacity);
}

void clear_tables(Tables& t) noexcept {
  const Capacity& capacity = t.head->capacity;
  t.head->heart = Heart{};
  std::uninitialized_fill_n(t.flows, 1 + 2 * t.network_count() + capacity.inner_flows, Flow{});
  std::uninitialized_fill_n(t.levels, 2 + t.network_count(), Level{.at = t.now()});
  std::uninitialized_fill_n(t.requests, request_count(capacity), Request{});
  std::uninitialized_fill_n(t.classes, kCostClasses, CostClass{});
  for (std::uint32_t i = 0; i < request_count(capacity); ++i) push_back<&Request::inner_link>(t.requests, t.heart().free_requests, i);
  for (std::uint32_t i = 0; i < kMaxWorkers; ++i) t.workers[i].mail = {};
  clear_networks(t);
  clear_sessions(t);
}

}  // namespace fairway::queue
