#include "core/queue_slots.h"

#include "core/cost_estimates.h"
#include "core/light_lane.h"
#include "core/queue_clock.h"
#include "core/queue_tables.h"

namespace fairway::queue {
namespace {

bool flow_admits(const Tables& t, std::uint32_t inner) noexcept {
  const Request& first = t.requests[t.flows[inner].waiting.first];
  return lane_admits(t, {first.network, first.session, first.outer});
}

bool any_flow_admits(const Tables& t, std::uint32_t level) noexcept {
  for (std::uint32_t f = t.levels[level].waiting.first; f != kNone; f = t.flows[f].sibling.next) {
    if (flow_admits(t, f)) return true;
  }
  return false;
}

// The request that is to get the next slot, or kNone when none may.
std::uint32_t next_request(Tables& t) noexcept {
  if (t.limits().order == Order::fifo) return t.heart().waiting.first;
  weigh_root_bucket(t);
  const std::uint32_t outer = lift(t, kRootLevel, [&t](std::uint32_t f) { return any_flow_admits(t, t.inside(f)); });
  if (outer == kNone) return kNone;
  const std::uint32_t inner = lift(t, t.inside(outer), [&t](std::uint32_t f) { return flow_admits(t, f); });
  return t.flows[inner].waiting.first;
}

bool is_recovering(const Tables& t) noexcept {
  return t.heart().unregistered != 0;
}

void unlist_waiting(Tables& t, std::uint32_t index) noexcept {
  remove<&Request::outer_link>(t.requests, t.heart().waiting, index);
  --t.heart().waiting_count;
}

// From `started` on it holds a slot; what it reserves is what its key and its location have cost lately.
void reserve(Tables& t, Request& r, Nanos started) noexcept {
  r.started = started;
  r.estimate = estimate(t, r.network, r.session, r.cost_class);
}

}  // namespace

std::uint32_t new_request(Tables& t, const Arrival& arrival, const Client& client) noexcept {
  const std::uint32_t index = pop_front<&Request::inner_link>(t.requests, t.heart().free_requests);
  if (index == kNone) return kNone;
  if (++t.head->serial == 0) ++t.head->serial;
  t.requests[index] = Request{.token = arrival.token,
                              .cost_class = arrival.cost_class,
                              .number = ++t.heart().arrivals,
                              .arrived = t.now(),
                              .serial = t.head->serial,
                              .worker = arrival.worker,
                              .network = client.network,
                              .session = client.session};
  return index;
}

Handle handle_of(const Tables& t, std::uint32_t index) noexcept {
  return Handle{t.requests[index].serial} << 32 | index;
}

std::uint32_t find_request(const Tables& t, Handle handle) noexcept {
  const auto index = static_cast<std::uint32_t>(handle & 0xffffffff);
  if (index >= request_count(t.head->capacity)) return kNone;
  const Request& r = t.requests[index];
  return r.state != State::unused && r.serial == handle >> 32 ? index : kNone;
}

bool slot_free(const Tables& t) noexcept {
  return t.levels[kRootLevel].running < t.limits().concurrency && !is_recovering(t);
}

void begin_waiting(Tables& t, std::uint32_t index) noexcept {
  Request& r = t.requests[index];
  r.state = State::waiting;
  join(t, index);
  std::uint32_t before = t.heart().waiting.last;
  while (before != kNone && t.requests[before].arrived > r.arrived) before = t.requests[before].outer_link.prev;
  insert_after<&Request::outer_link>(t.requests, t.heart().waiting, before, index);
  ++t.heart().waiting_count;
}

void begin_running(Tables& t, std::uint32_t index, Nanos started) noexcept {
  t.requests[index].state = State::running;
  reserve(t, t.requests[index], started);
  join(t, index);
  lane_start(t, index);
}

void stop_waiting(Tables& t, std::uint32_t index, Nanos cost) noexcept {
  unlist_waiting(t, index);
  leave(t, index);
  if (cost != 0) charge(t, t.requests[index], cost);
}

void stop_running(Tables& t, std::uint32_t index, Nanos cost, bool learn) noexcept {
  const Request& r = t.requests[index];
  const Nanos held = t.now() - r.started;
  for (const std::uint32_t level : {kRootLevel, t.inside(r.outer)}) advance(t, t.levels[level]);
  correct_clock(t, t.levels[kRootLevel], r.outer_mark, held, cost);
  correct_clock(t, t.levels[t.inside(r.outer)], r.inner_mark, held, cost);
  charge(t, r, cost);
  leave(t, index);
  lane_stop(t, index, held, learn);
  if (!learn) return;
  learn_cost(t, r, cost);
  learn_rate(t, held, cost);
}

void let_keys_go(Tables& t, std::uint32_t index, bool blank) noexcept {
  Request& r = t.requests[index];
  if (r.network == kNone) return;
  let_go(t, r.network, r.session, blank);
  r.network = kNone;
}

void forget(Tables& t, std::uint32_t index) noexcept {
  let_keys_go(t, index, false);
  t.requests[index] = Request{};
  insert_after<&Request::inner_link>(t.requests, t.heart().free_requests, kNone, index);
}

void dispatch(Tables& t) noexcept {
  lane_expire(t);
  while (t.heart().waiting_count != 0 && slot_free(t)) {
    const std::uint32_t index = next_request(t);
    if (index == kNone) return;
    unlist_waiting(t, index);
    reserve(t, t.requests[index], t.now());
    promote(t, index);
    lane_start(t, index);
    send_mail(t, index);
  }
}

void send_mail(Tables& t, std::uint32_t index) noexcept {
  const std::uint32_t worker = t.requests[index].worker;
  push_back<&Request::mail_link>(t.requests, t.workers[worker].mail, index);
  t.wakes.set(worker);
}

void withdraw_mail(Tables& t, std::uint32_t index) noexcept {
  remove<&Request::mail_link>(t.requests, t.workers[t.requests[index].worker].mail, index);
}

}  // namespace fairway::queue
