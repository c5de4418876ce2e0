// The life of the block and of the workers that share it: made, attached, marked, lost, rebuilt.
#include <atomic>
#include <memory>

#include "core/fair_queue.h"
#include "core/queue_slots.h"
#include "core/queue_tables.h"

namespace fairway::queue {
namespace {

constexpr std::uint64_t kMagic = 0x5145554555524941;

bool valid(const Limits& limits, const Capacity& capacity) noexcept {
  return limits.concurrency >= 1 && limits.concurrency <= capacity.concurrency && limits.size <= capacity.size &&
         limits.light_lane < limits.concurrency && limits.timeout > 0 && limits.burst >= 0 && limits.max_debt >= 0 && limits.debt_ttl >= 0;
}

bool valid(const Capacity& capacity) noexcept {
  constexpr std::uint32_t most = 1U << 24;
  return capacity.outer_flows >= 1 && capacity.outer_flows <= most && capacity.inner_flows >= 1 && capacity.inner_flows <= most &&
         capacity.concurrency >= 1 && capacity.concurrency <= most && capacity.size <= most;
}

// A process that dies between two stores leaves what stood before this point written, and nothing behind it.
void in_order() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace

std::optional<FairQueue> FairQueue::create(void* block, std::size_t size, const Capacity& capacity, const Limits& limits,
                                           const SipKey& key) {
  if (!valid(capacity) || !valid(limits, capacity) || size < queue::bytes_for(capacity)) return std::nullopt;
  Tables t = map_block(block, capacity);
  std::construct_at(t.head);
  t.head->version = kLayoutVersion;
  t.head->capacity = capacity;
  t.head->limits = limits;
  t.head->key = key;
  t.head->random = key.k0;
  std::uninitialized_fill_n(t.workers, kMaxWorkers, Worker{});
  clear_tables(t);
  in_order();
  t.head->magic = kMagic;
  return FairQueue(t);
}

std::optional<FairQueue> FairQueue::attach(void* block, std::size_t size) noexcept {
  const auto* head = static_cast<const Header*>(block);
  if (size < sizeof(Header) || head->magic != kMagic || head->version != kLayoutVersion) return std::nullopt;
  if (!valid(head->capacity) || size < queue::bytes_for(head->capacity)) return std::nullopt;
  return FairQueue(map_block(block, head->capacity));
}

bool FairQueue::enter(std::uint32_t pid, Nanos now) noexcept {
  const bool torn = t_.head->mutator != 0;
  t_.head->mutator = pid;
  in_order();
  step(now);
  if (torn) rebuild();
  return !torn;
}

void FairQueue::leave() noexcept {
  in_order();
  t_.head->mutator = 0;
}

void FairQueue::rebuild() noexcept {
  ++t_.head->generation;
  ++t_.head->totals.rebuilds;
  clear_tables(t_);
  for (std::uint32_t i = 0; i < kMaxWorkers; ++i) {
    Worker& row = t_.workers[i];
    row.must_register = row.used != 0;
    if (!row.must_register) continue;
    ++t_.heart().unregistered;
    t_.wakes.set(i);
  }
}

std::optional<std::uint32_t> FairQueue::register_worker(const WorkerIdentity& identity) noexcept {
  for (std::uint32_t i = 0; i < kMaxWorkers; ++i) {
    Worker& row = t_.workers[i];
    if (row.used != 0) continue;
    row = Worker{.identity = identity};
    in_order();
    row.used = 1;
    return i;
  }
  return std::nullopt;
}

std::optional<WorkerIdentity> FairQueue::worker(std::uint32_t worker) const noexcept {
  if (worker >= kMaxWorkers || t_.workers[worker].used == 0) return std::nullopt;
  return t_.workers[worker].identity;
}

void FairQueue::remove_worker(std::uint32_t worker, Nanos now) noexcept {
  step(now);
  if (worker >= kMaxWorkers || t_.workers[worker].used == 0) return;
  for (std::uint32_t i = 0; i < request_count(t_.head->capacity); ++i) {
    const Request& r = t_.requests[i];
    if (r.state == State::unused || r.worker != worker) continue;
    if (r.state == State::granted || r.state == State::evicted) withdraw_mail(t_, i);
    if (r.state == State::waiting || r.state == State::granted) count_status(Status::cancelled);
    if (r.state == State::waiting) stop_waiting(t_, i, 0);
    if (r.state == State::granted || r.state == State::running) stop_running(t_, i, t_.now() - r.started, false);  // its end is not known
    forget(t_, i);
  }
  if (t_.workers[worker].must_register) --t_.heart().unregistered;
  t_.workers[worker] = Worker{};
  t_.wakes.reset(worker);
  dispatch(t_);
}

Handle FairQueue::register_again(const Held& held, Nanos now) noexcept {
  step(now);
  if (t_.heart().free_requests.empty()) return 0;
  Client client = identify(t_, held.arrival.keys);
  enroll(t_, held.arrival.keys, client);
  const std::uint32_t index = new_request(t_, held.arrival, client);
  t_.requests[index].arrived = std::min(held.arrived, t_.now());
  if (held.running) {
    begin_running(t_, index, std::min(held.started, t_.now()));
  } else {
    begin_waiting(t_, index);
  }
  return handle_of(t_, index);
}

void FairQueue::registered(std::uint32_t worker, Nanos now) noexcept {
  step(now);
  if (worker >= kMaxWorkers || !t_.workers[worker].must_register) return;
  t_.workers[worker].must_register = false;
  --t_.heart().unregistered;
  dispatch(t_);
}

bool FairQueue::set_limits(const Limits& limits, Nanos now) noexcept {
  step(now);
  if (!valid(limits, t_.head->capacity)) return false;
  t_.head->limits = limits;
  dispatch(t_);
  return true;
}

}  // namespace fairway::queue
