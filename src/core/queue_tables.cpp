#include "core/queue_tables.h"

#include <algorithm>

#include "core/queue_clock.h"

namespace fairway::queue {
namespace {

constexpr int kDebtorSearch = 64;  // proven records looked at for one without debt
constexpr Nanos kReseed = 3600 * kSecond;

std::uint32_t& network_chain(const Tables& t, std::uint64_t hash) noexcept {
  return t.network_heads[hash & (chain_count(t.head->capacity.outer_flows) - 1)];
}

// The digest is a keyed hash already.
std::uint32_t& session_chain(const Tables& t, std::uint64_t digest) noexcept {
  return t.session_heads[digest & (chain_count(t.head->capacity.inner_flows) - 1)];
}

template <class Record>
void unchain(Record* records, std::uint32_t& head, std::uint32_t index) noexcept {
  std::uint32_t* at = &head;
  while (*at != index) at = &records[*at].next;
  *at = records[index].next;
}

List& idle_list(Tables& t, const Network& n) noexcept {
  return t.heart().idle_networks[n.proven ? 1 : 0];
}
List& idle_list(Tables& t, const Session& s) noexcept {
  return t.heart().idle_sessions[s.proven ? 1 : 0];
}

void drop_network(Tables& t, std::uint32_t index) noexcept {
  Network& n = t.networks[index];
  remove<&Age::link>(t.network_ages, idle_list(t, n), index);
  unchain(t.networks, network_chain(t, n.hash), index);
  n = Network{};
  n.next = t.heart().free_networks;
  t.heart().free_networks = index;
}

void drop_session(Tables& t, std::uint32_t index) noexcept {
  Session& s = t.sessions[index];
  remove<&Age::link>(t.session_ages, idle_list(t, s), index);
  unchain(t.sessions, session_chain(t, s.digest), index);
  s = Session{};
  s.next = t.heart().free_sessions;
  t.heart().free_sessions = index;
}

std::uint32_t overflow_of(const Tables& t, std::uint64_t hash) noexcept {
  const SipKey seed{t.head->key.k0, static_cast<std::uint64_t>(t.now() / kReseed)};
  return t.head->capacity.outer_flows + static_cast<std::uint32_t>(siphash(seed, &hash, sizeof hash) % kOverflowNetworks);
}

// Adds debt to a flow that others share; it never gets less than it has.
void give_debt(Tables& t, std::uint32_t flow, Nanos debt) noexcept {
  Flow& f = t.flows[flow];
  if (debt <= flow_debt(t, flow)) return;
  f.settled += clock_now(t, t.levels[f.level]) + debt - flow_key(t, flow);
  f.idle_since = t.now();  // if it is idle: the debt is as old as that
}

// The first of the oldest records of `idle` that owes nothing, else the oldest.
template <class DebtOf>
std::uint32_t cheapest(const Age* ages, const List& idle, DebtOf debt_of) noexcept {
  int looked = 0;
  for (std::uint32_t i = idle.first; i != kNone && looked < kDebtorSearch; i = ages[i].link.next, ++looked) {
    if (debt_of(i) == 0) return i;
  }
  return idle.first;
}

void drop_some_network(Tables& t) noexcept {
  const auto& idle = t.heart().idle_networks;
  std::uint32_t victim = idle[0].first;
  if (victim == kNone) {
    const auto debt_of = [&t](std::uint32_t i) { return flow_debt(t, t.network_flow(i)); };
    victim = cheapest(t.network_ages, idle[1], debt_of);
    if (victim == kNone) return;
    give_debt(t, t.network_flow(overflow_of(t, t.networks[victim].hash)), debt_of(victim));
  }
  drop_network(t, victim);
  ++t.head->totals.dropped_networks;
}

void drop_some_session(Tables& t) noexcept {
  const auto& idle = t.heart().idle_sessions;
  std::uint32_t victim = idle[0].first;
  if (victim == kNone) {
    const auto debt_of = [&t](std::uint32_t i) { return is_bound(t, t.sessions[i]) ? flow_debt(t, t.session_flow(i)) : 0; };
    victim = cheapest(t.session_ages, idle[1], debt_of);
    if (victim == kNone) return;
    if (is_bound(t, t.sessions[victim])) give_debt(t, t.bucket_flow(t.sessions[victim].network), debt_of(victim));
  }
  drop_session(t, victim);
  ++t.head->totals.dropped_sessions;
}

// Idle records are listed by proof.
template <class Record>
void set_proven(Tables& t, Age* ages, Record* records, std::uint32_t index, bool proven) noexcept {
  Record& r = records[index];
  if (r.requests == 0) remove<&Age::link>(ages, idle_list(t, r), index);
  r.proven = proven;
  if (r.requests == 0) push_back<&Age::link>(ages, idle_list(t, r), index);
}

// Proof lapses when its key was not seen for long.
template <class Record>
bool has_lapsed(const Tables& t, const Record& r) noexcept {
  return r.proven && r.requests == 0 && t.limits().probation && t.now() - r.last_used >= kProofTtl;
}

template <class Record>
void hold_one(Tables& t, Age* ages, Record* records, std::uint32_t index) noexcept {
  if (records[index].requests++ == 0) remove<&Age::link>(ages, idle_list(t, records[index]), index);
}

template <class Record>
bool let_go_one(Tables& t, Age* ages, Record* records, std::uint32_t index) noexcept {
  Record& r = records[index];
  r.last_used = t.now();
  if (--r.requests != 0) return false;
  push_back<&Age::link>(ages, idle_list(t, r), index);
  return r.finished == 0 && r.cost == 0;  // nothing is known of it
}

}  // namespace

bool is_overflow(const Tables& t, std::uint32_t network) noexcept {
  return network >= t.head->capacity.outer_flows;
}

bool is_bound(const Tables& t, const Session& s) noexcept {
  return s.network != kNone && t.networks[s.network].serial == s.network_serial;
}

void prefetch(const Tables& t, const FlowKeys& keys) noexcept {
  const std::uint32_t& sessions = session_chain(t, keys.inner);
  __builtin_prefetch(&sessions);
  const std::uint32_t network = network_chain(t, keys.outer_hash);
  const std::uint32_t session = sessions;
  if (session != kNone) {
    __builtin_prefetch(&t.sessions[session]);
    __builtin_prefetch(&t.sessions[session].own);
    __builtin_prefetch(&t.flows[t.session_flow(session)]);
    __builtin_prefetch(&t.session_ages[session]);
  }
  if (network != kNone) {
    __builtin_prefetch(&t.networks[network]);
    __builtin_prefetch(&t.flows[t.network_flow(network)]);
    __builtin_prefetch(&t.levels[t.network_level(network)]);
    __builtin_prefetch(&t.network_ages[network]);
  }
}

std::uint32_t peek_network(const Tables& t, const FlowKeys& keys) noexcept {
  std::uint32_t index = network_chain(t, keys.outer_hash);
  while (index != kNone && t.networks[index].key != keys.outer) index = t.networks[index].next;
  return index;
}

std::uint32_t peek_session(const Tables& t, std::uint64_t digest, std::uint32_t network) noexcept {
  std::uint32_t index = session_chain(t, digest);
  for (; index != kNone; index = t.sessions[index].next) {
    const Session& s = t.sessions[index];
    if (s.digest == digest && (s.network == network || !is_bound(t, s))) break;
  }
  return index;
}

std::uint32_t find_network(Tables& t, const FlowKeys& keys) noexcept {
  const std::uint32_t index = peek_network(t, keys);
  if (index == kNone || !has_lapsed(t, t.networks[index])) return index;
  set_network_proven(t, index, false);
  t.networks[index].finished = 0;
  Flow& f = t.flows[t.network_flow(index)];
  f.level = kBucketLevel;
  f.settled = clock_now(t, t.levels[kBucketLevel]);
  return index;
}

std::uint32_t find_session(Tables& t, std::uint64_t digest, std::uint32_t network) noexcept {
  const std::uint32_t index = peek_session(t, digest, network);
  if (index == kNone || !has_lapsed(t, t.sessions[index])) return index;
  set_session_proven(t, index, false);
  t.sessions[index].finished = 0;
  return index;
}

std::uint32_t add_network(Tables& t, const FlowKeys& keys) noexcept {
  if (t.heart().free_networks == kNone) drop_some_network(t);
  const std::uint32_t index = t.heart().free_networks;
  if (index == kNone) return overflow_of(t, keys.outer_hash);
  t.heart().free_networks = t.networks[index].next;

  Network& n = t.networks[index];
  n = Network{.hash = keys.outer_hash,
              .key = keys.outer,
              .used = true,
              .proven = !t.limits().probation,
              .serial = ++t.head->serial,
              .last_used = t.now()};
  std::uint32_t& chain = network_chain(t, n.hash);
  n.next = chain;
  chain = index;
  push_back<&Age::link>(t.network_ages, idle_list(t, n), index);

  const std::uint32_t level = n.proven ? kRootLevel : kBucketLevel;
  lift(t, level);
  t.levels[t.network_level(index)] = Level{.at = t.now()};
  t.flows[t.network_flow(index)] = Flow{.settled = t.levels[level].clock, .level = level};
  t.flows[t.bucket_flow(index)] = Flow{.level = t.network_level(index)};
  return index;
}

std::uint32_t add_session(Tables& t, std::uint64_t digest, std::uint32_t network) noexcept {
  if (t.heart().free_sessions == kNone) drop_some_session(t);
  const std::uint32_t index = t.heart().free_sessions;
  if (index == kNone) return kNone;
  t.heart().free_sessions = t.sessions[index].next;

  Session& s = t.sessions[index];
  s = Session{.digest = digest, .used = true, .proven = !t.limits().probation, .last_used = t.now()};
  std::uint32_t& chain = session_chain(t, digest);
  s.next = chain;
  chain = index;
  push_back<&Age::link>(t.session_ages, idle_list(t, s), index);
  bind_session(t, index, network);
  return index;
}

void bind_session(Tables& t, std::uint32_t session, std::uint32_t network) noexcept {
  Session& s = t.sessions[session];
  if (s.network == network && is_bound(t, s)) return;
  s.network = network;
  s.network_serial = t.networks[network].serial;
  const std::uint32_t level = t.network_level(network);
  lift(t, level);
  t.flows[t.session_flow(session)] = Flow{.settled = t.levels[level].clock, .level = level};
}

void set_network_proven(Tables& t, std::uint32_t network, bool proven) noexcept {
  set_proven(t, t.network_ages, t.networks, network, proven);
}

void set_session_proven(Tables& t, std::uint32_t session, bool proven) noexcept {
  set_proven(t, t.session_ages, t.sessions, session, proven);
}

void hold(Tables& t, std::uint32_t network, std::uint32_t session) noexcept {
  if (network != kNone && !is_overflow(t, network)) hold_one(t, t.network_ages, t.networks, network);
  if (session != kNone) hold_one(t, t.session_ages, t.sessions, session);
}

void let_go(Tables& t, std::uint32_t network, std::uint32_t session, bool blank) noexcept {
  if (session != kNone && let_go_one(t, t.session_ages, t.sessions, session) && blank) drop_session(t, session);
  if (network != kNone && !is_overflow(t, network) && let_go_one(t, t.network_ages, t.networks, network) && blank) drop_network(t, network);
}

}  // namespace fairway::queue
