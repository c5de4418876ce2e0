// A fair queue: at most C requests run at once, and the next one is chosen by client, not by arrival.
//
// The algorithm is hierarchical start-time fair queuing (Goyal, Vin and Cheng, 1996) with two changes for costs that are known only
// afterwards: a request is charged an estimate when it starts and its running time as it exceeds that, trued up when it ends; and the
// virtual clock moves with real time as a fluid server's would (Demers, Keshav and Shenker, 1989), but never lags behind the least
// key among the waiting flows. Flows are client networks, and inside them sessions. The parts, each with its rules at its top:
//
//   queue_clock     virtual time, keys, debts            queue_members   probation: which flow a request belongs to
//   light_lane      slots kept for light requests        queue_tables    records of networks and sessions, and their caps
//   cost_estimates  what a request reserves              queue_full      eviction and Retry-After
//   queue_slots     from arrival to the end              queue_state     the memory
//
// Decisions that are not in those:
// - Post-paid cost makes any start-time order unfair by up to (m_f + m_g)(L + E) between two backlogged flows (m: most requests a
//   flow has running, L: longest request, E: largest estimate, 1 s), and no more as time goes on.
// - A slot is work-conserving but for the light lane: nobody waits while a slot open to them is free. What time alone opens (the
//   lane's hold, a light key's use) is noticed by tick().
// - Every choice looks at each waiting flow once (at most `size`) instead of keeping a heap: keys accrue by themselves, and 256 of
//   them are looked through faster than an exact heap is kept.
// - A worker that holds what others do not know (its running and waiting requests) is the truth; the block is an index over it and
//   may be lost. A process that died inside a change is found by its mark: the tables are emptied, the generation grows, and nothing
//   is dispatched until every worker has registered again or is gone. Limits, counters and worker rows survive; debts and proofs do not.
// - Known limits: with one slot nothing protects against one long request. Whoever keeps many cookies is as many sessions: neighbours
//   in the same network wait behind all of them (keys of one address sharing one weight would cost evenness inside an office). A key
//   that changes with each answer stays on probation.
//
// The block is shared by processes; each has its own FairQueue, attached to it, and makes every call between enter() and leave() while
// it holds the caller's lock. No call allocates, fails on memory, blocks or throws. Times are ns of one steady clock; a time before
// the latest seen counts as that one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/queue_members.h"
#include "core/queue_state.h"
#include "core/queue_types.h"

namespace fairway::queue {

enum class TopBy : std::uint8_t { debt, cost };

class FairQueue {
 public:
  // Bytes a block needs: about 340 per network, 210 per session, 130 per running and 260 per waiting request.
  static std::size_t bytes_for(const Capacity& capacity) noexcept { return queue::bytes_for(capacity); }
  // Makes an empty queue in `block` (64-byte aligned). nullopt when `size` is too small or the limits are not valid.
  static std::optional<FairQueue> create(void* block, std::size_t size, const Capacity& capacity, const Limits& limits, const SipKey& key);
  // The queue that lies in `block`; nullopt when none does, or one of another layout. Changes nothing.
  static std::optional<FairQueue> attach(void* block, std::size_t size) noexcept;

  // Brackets every change. enter() is false when another process has died inside: the tables were emptied and everybody has to
  // register again (see generation()). `pid` is not 0.
  bool enter(std::uint32_t pid, Nanos now) noexcept;
  void leave() noexcept;
  // Grows when the tables are lost; all handles of earlier generations have ended. A worker that sees a new one registers again.
  std::uint64_t generation() const noexcept { return t_.head->generation; }
  // Empties the tables as if another process had died inside.
  void rebuild() noexcept;
  // Whom to send a wake, since the last call; ask before leave().
  WorkerSet take_wakes() noexcept;

  // A worker's number, or nullopt when kMaxWorkers are registered.
  std::optional<std::uint32_t> register_worker(const WorkerIdentity& identity) noexcept;
  // The identity in row `worker`, or nullopt when the row is free.
  std::optional<WorkerIdentity> worker(std::uint32_t worker) const noexcept;
  // The worker is gone: its slots are given back (charged for the time they were held), its waiting requests end as cancelled.
  void remove_worker(std::uint32_t worker, Nanos now) noexcept;
  // After a loss: one call for each request the worker holds, then registered(). A handle of 0: no record was left.
  Handle register_again(const Held& held, Nanos now) noexcept;
  void registered(std::uint32_t worker, Nanos now) noexcept;
  bool recovering() const noexcept { return t_.heart().unregistered != 0; }

  // Takes over new limits; false, changing nothing, when they are not valid for the capacity. Debts, proofs and waiting requests stay;
  // when more run than the new concurrency, they run out.
  bool set_limits(const Limits& limits, Nanos now) noexcept;
  const Limits& limits() const noexcept { return t_.limits(); }
  const Capacity& capacity() const noexcept { return t_.head->capacity; }
  // The secret for InnerKey::digest and FlowKeys; the same for all processes, as long as the block lives.
  const SipKey& hash_key() const noexcept { return t_.head->key; }

  // A request asks for a slot. It may evict another one, whose worker gets mail.
  Decision acquire(const Arrival& arrival, Nanos now) noexcept;
  // A running request ends: its cost is settled and the slot passed on. Returns the cost, ns; nullopt when it had ended already.
  std::optional<Nanos> release(Handle handle, const Outcome& outcome, Nanos now) noexcept;
  // The client of a waiting request has left; a token of 1 ms is charged, lest queue churn be free.
  CancelResult cancel(Handle handle, Nanos now) noexcept;
  // A waiting request has waited for limits().timeout.
  TimeoutResult timeout(Handle handle, Nanos now) noexcept;
  void count_bypass() noexcept { count_status(Status::bypassed); }
  // The next thing a worker has to be told; to be called until nullopt, on every wake and before each acquire().
  std::optional<Mail> next_mail(std::uint32_t worker, Nanos now) noexcept;

  // To be called each kTickPeriod while needs_tick(): gives slots that have become open by time alone.
  void tick(Nanos now) noexcept;
  bool needs_tick() const noexcept { return t_.heart().waiting_count != 0 && running() < limits().concurrency; }

  std::uint32_t running() const noexcept { return t_.levels[kRootLevel].running; }
  std::uint32_t waiting() const noexcept { return t_.heart().waiting_count; }
  const Totals& totals() const noexcept { return t_.head->totals; }
  std::uint64_t total(Status status) const noexcept { return totals().by_status[static_cast<std::size_t>(status)]; }
  Percentiles wait_percentiles() const noexcept { return totals().recent_waits.percentiles(t_.now()); }
  // The flows with most debt or cost, networks or sessions, most first; how many were written. Looks at every record.
  std::size_t top(TopBy by, bool sessions, std::span<FlowInfo> out) const noexcept;
  // What is known of one client.
  std::optional<FlowInfo> find(const FlowKeys& keys, bool session) const noexcept;

  // The memory itself, for tests.
  const Tables& tables() const noexcept { return t_; }

 private:
  explicit FairQueue(const Tables& tables) noexcept : t_(tables) {}

  void step(Nanos now) noexcept;
  void count_status(Status status) noexcept { ++t_.head->totals.by_status[static_cast<std::size_t>(status)]; }
  Decision admit(const Arrival& arrival, Client& client, bool direct) noexcept;
  Decision refuse(const Arrival& arrival, const Client& client) noexcept;
  bool make_room(const Client& client) noexcept;
  void evict(std::uint32_t request) noexcept;
  void count_grant(const Request& request) noexcept;

  Tables t_;
};

}  // namespace fairway::queue

namespace fairway {
using queue::FairQueue;
}
