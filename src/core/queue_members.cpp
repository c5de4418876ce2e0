#include "core/queue_members.h"

#include <algorithm>

#include "core/queue_clock.h"
#include "core/queue_tables.h"

namespace fairway::queue {
namespace {

bool in_key_bucket(const Tables& t, const Request& r) noexcept {
  return r.session != kNone && r.inner == t.bucket_flow(r.network);
}

// The key bucket weighs min(2, √keys).
void weigh_key_bucket(Tables& t, std::uint32_t network) noexcept {
  reweigh(t, t.bucket_flow(network), crowd_weight(t.networks[network].keys, 2));
}

void enter_bucket(Tables& t, const Request& r) noexcept {
  if (!in_key_bucket(t, r) || t.sessions[r.session].in_bucket++ != 0) return;
  ++t.networks[r.network].keys;
  weigh_key_bucket(t, r.network);
}

void leave_bucket(Tables& t, const Request& r) noexcept {
  if (!in_key_bucket(t, r) || --t.sessions[r.session].in_bucket != 0) return;
  --t.networks[r.network].keys;
  weigh_key_bucket(t, r.network);
}

// Whether an unproven network has waited for half the timeout. Looks at the one that began to wait first.
bool newcomers_wait_long(const Tables& t) noexcept {
  const std::uint32_t first = t.levels[kBucketLevel].waiting.first;
  return first != kNone && t.now() - t.requests[t.flows[first].waiting.first].arrived > t.limits().timeout / 2;
}

bool arrived_before(const Request& a, const Request& b) noexcept {
  return a.arrived != b.arrived ? a.arrived < b.arrived : a.number < b.number;
}

// The flows of a request with these records; a network has one, a session only if there was room.
Client place(const Tables& t, std::uint32_t network, std::uint32_t session) noexcept {
  if (!t.networks[network].proven) return {network, session, kRootBucket, t.network_flow(network)};
  const bool own = session != kNone && t.sessions[session].proven;
  return {network, session, t.network_flow(network), own ? t.session_flow(session) : t.bucket_flow(network)};
}

void join_waiting(Tables& t, std::uint32_t index) noexcept {
  Request& r = t.requests[index];
  Flow& inner = t.flows[r.inner];
  if (inner.waiting.empty()) push_back<&Flow::sibling>(t.flows, t.levels[inner.level].waiting, r.inner);
  if (t.flows[r.outer].waiting_count == 0) push_back<&Flow::sibling>(t.flows, t.levels[kRootLevel].waiting, r.outer);
  std::uint32_t before = inner.waiting.last;
  while (before != kNone && arrived_before(r, t.requests[before])) before = t.requests[before].inner_link.prev;
  insert_after<&Request::inner_link>(t.requests, inner.waiting, before, index);
  count(t, r.inner, 1, 0);
  count(t, r.outer, 1, 0);
}

void leave_waiting(Tables& t, std::uint32_t index) noexcept {
  Request& r = t.requests[index];
  Flow& inner = t.flows[r.inner];
  remove<&Request::inner_link>(t.requests, inner.waiting, index);
  count(t, r.inner, -1, 0);
  count(t, r.outer, -1, 0);
  if (inner.waiting.empty()) remove<&Flow::sibling>(t.flows, t.levels[inner.level].waiting, r.inner);
  if (t.flows[r.outer].waiting_count == 0) remove<&Flow::sibling>(t.flows, t.levels[kRootLevel].waiting, r.outer);
}

void join_running(Tables& t, std::uint32_t index) noexcept {
  Request& r = t.requests[index];
  count(t, r.inner, 0, 1);
  count(t, r.outer, 0, 1);
  push_back<&Request::inner_link>(t.requests, t.flows[r.inner].running, index);
  push_back<&Request::outer_link>(t.requests, t.flows[r.outer].running, index);
  r.outer_mark = t.levels[kRootLevel].per_slot;
  r.inner_mark = t.levels[t.inside(r.outer)].per_slot;
}

void leave_running(Tables& t, std::uint32_t index) noexcept {
  Request& r = t.requests[index];
  remove<&Request::inner_link>(t.requests, t.flows[r.inner].running, index);
  remove<&Request::outer_link>(t.requests, t.flows[r.outer].running, index);
  count(t, r.inner, 0, -1);
  count(t, r.outer, 0, -1);
}

// Requests taken out of their flows on the way to others.
struct Movers {
  List waiting;
  List running;
};

void take(Tables& t, List& from, List& to, std::uint32_t session) noexcept {
  for (std::uint32_t i = from.first; i != kNone;) {
    const std::uint32_t next = t.requests[i].inner_link.next;
    if (session == kNone || t.requests[i].session == session) {
      leave(t, i);
      push_back<&Request::inner_link>(t.requests, to, i);
    }
    i = next;
  }
}

// All requests of a flow, or those of one session.
Movers take_all(Tables& t, std::uint32_t flow, std::uint32_t session) noexcept {
  Movers movers;
  take(t, t.flows[flow].waiting, movers.waiting, session);
  take(t, t.flows[flow].running, movers.running, session);
  return movers;
}

void join_all(Tables& t, Movers& movers) noexcept {
  for (List* list : {&movers.running, &movers.waiting}) {
    for (std::uint32_t i = list->first; i != kNone; i = list->first) {
      pop_front<&Request::inner_link>(t.requests, *list);
      join(t, i);
    }
  }
}

void prove_network(Tables& t, std::uint32_t network) noexcept {
  const std::uint32_t flow = t.network_flow(network);
  Movers movers = take_all(t, flow, kNone);
  set_network_proven(t, network, true);
  t.networks[network].young.size = std::max(t.networks[network].young.size, t.heart().lane.bucket.size);
  rebase(t, flow, kRootLevel);
  join_all(t, movers);
}

void prove_session(Tables& t, std::uint32_t session, std::uint32_t network) noexcept {
  Movers movers = take_all(t, t.bucket_flow(network), session);
  set_session_proven(t, session, true);
  const std::uint32_t level = t.network_level(network);
  lift(t, level);
  t.flows[t.session_flow(session)].settled = t.levels[level].clock;  // the bucket has paid for what it did so far
  join_all(t, movers);
}

bool came_back(const Tables& t, std::uint32_t finished) noexcept {
  return finished != 0 || !t.limits().probation;
}

}  // namespace

Client identify(Tables& t, const FlowKeys& keys) noexcept {
  prefetch(t, keys);
  const std::uint32_t n = find_network(t, keys);
  const std::uint32_t s = find_session(t, keys.inner, n);
  if (n != kNone && s != kNone) bind_session(t, s, n);
  if (n != kNone && !t.networks[n].proven && came_back(t, t.networks[n].finished)) prove_network(t, n);
  if (n != kNone && s != kNone && !t.sessions[s].proven && came_back(t, t.sessions[s].finished)) prove_session(t, s, n);
  if (n == kNone) return {n, s, t.limits().probation ? kRootBucket : kNone, kNone};
  Client client = place(t, n, s);
  if (s == kNone && t.networks[n].proven && !t.limits().probation) client.inner = kNone;  // it will have its own
  return client;
}

void enroll(Tables& t, const FlowKeys& keys, Client& client) noexcept {
  std::uint32_t network = client.network;
  std::uint32_t session = client.session;
  hold(t, network, session);
  if (network == kNone) {
    network = add_network(t, keys);
    hold(t, network, kNone);
    if (is_overflow(t, network)) {
      let_go(t, kNone, session);
      client = place(t, network, kNone);
      return;
    }
    if (session != kNone) bind_session(t, session, network);
  }
  if (session == kNone) {
    session = add_session(t, keys.inner, network);
    hold(t, kNone, session);
  }
  client = place(t, network, session);
}

void weigh_root_bucket(Tables& t) noexcept {
  const std::uint32_t networks = t.levels[kBucketLevel].active;
  std::uint32_t weight = crowd_weight(networks, 8);
  if (newcomers_wait_long(t)) {
    const Flow& bucket = t.flows[kRootBucket];
    const std::uint32_t proven = t.levels[kRootLevel].weights - bucket.weight;  // it is active: somebody waits in it
    weight = std::max(weight, std::min(networks * kWeightOne, proven / 2));
  }
  reweigh(t, kRootBucket, weight);
}

void join(Tables& t, std::uint32_t index) noexcept {
  Request& r = t.requests[index];
  const Client client = place(t, r.network, r.session);
  r.outer = client.outer;
  r.inner = client.inner;
  enter_bucket(t, r);
  arrive(t, r.inner);
  arrive(t, r.outer);
  if (r.state == State::waiting) {
    join_waiting(t, index);
  } else {
    join_running(t, index);
  }
  weigh_root_bucket(t);
}

void leave(Tables& t, std::uint32_t index) noexcept {
  if (t.requests[index].state == State::waiting) {
    leave_waiting(t, index);
  } else {
    leave_running(t, index);
  }
  leave_bucket(t, t.requests[index]);
  weigh_root_bucket(t);
}

void promote(Tables& t, std::uint32_t index) noexcept {
  leave_waiting(t, index);
  t.requests[index].state = State::granted;
  join_running(t, index);
}

void charge(Tables& t, const Request& r, Nanos cost) noexcept {
  for (const std::uint32_t flow : {r.inner, r.outer}) t.flows[flow].settled += per_weight(cost, t.flows[flow].weight);
  t.networks[r.network].cost += cost;
  if (r.session != kNone) t.sessions[r.session].cost += cost;
}

}  // namespace fairway::queue
