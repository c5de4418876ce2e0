// What operators are told.
#include <algorithm>

#include "core/fair_queue.h"
#include "core/queue_clock.h"
#include "core/queue_tables.h"

namespace fairway::queue {
namespace {

FlowInfo network_info(const Tables& t, std::uint32_t index) noexcept {
  const Network& n = t.networks[index];
  const Flow& f = t.flows[t.network_flow(index)];
  return {.proven = n.proven,
          .outer = n.key,
          .debt = flow_debt(t, t.network_flow(index)),
          .cost = n.cost,
          .waiting = f.waiting_count,
          .running = f.running_count};
}

// A session whose network was dropped has no flow; one on probation shares its bucket's debt.
FlowInfo session_info(const Tables& t, std::uint32_t index) noexcept {
  const Session& s = t.sessions[index];
  FlowInfo info{.is_session = true, .proven = s.proven, .inner = s.digest, .cost = s.cost, .running = s.own.running};
  if (!is_bound(t, s)) return info;
  info.outer = t.networks[s.network].key;
  info.waiting = s.requests - s.own.running;
  info.debt = flow_debt(t, s.proven ? t.session_flow(index) : t.bucket_flow(s.network));
  return info;
}

// Keeps `out` sorted, most first, while infos come by.
struct Best {
  TopBy by;
  std::span<FlowInfo> out;
  std::size_t count = 0;

  Nanos value(const FlowInfo& info) const noexcept { return by == TopBy::debt ? info.debt : info.cost; }
  void offer(const FlowInfo& info) noexcept {
    if (count == out.size() && (count == 0 || value(out.back()) >= value(info))) return;
    std::size_t at = count == out.size() ? count - 1 : count++;
    for (; at != 0 && value(out[at - 1]) < value(info); --at) out[at] = out[at - 1];
    out[at] = info;
  }
};

}  // namespace

std::size_t FairQueue::top(TopBy by, bool sessions, std::span<FlowInfo> out) const noexcept {
  Best best{by, out};
  const std::uint32_t records = sessions ? t_.head->capacity.inner_flows : t_.head->capacity.outer_flows;
  for (std::uint32_t i = 0; i < records; ++i) {
    if (sessions && t_.sessions[i].used) best.offer(session_info(t_, i));
    if (!sessions && t_.networks[i].used) best.offer(network_info(t_, i));
  }
  return best.count;
}

std::optional<FlowInfo> FairQueue::find(const FlowKeys& keys, bool session) const noexcept {
  const std::uint32_t network = peek_network(t_, keys);
  if (!session) return network == kNone ? std::nullopt : std::optional(network_info(t_, network));
  const std::uint32_t index = peek_session(t_, keys.inner, network);
  return index == kNone ? std::nullopt : std::optional(session_info(t_, index));
}

}  // namespace fairway::queue
