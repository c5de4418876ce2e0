#include "nginx/reported_cost.h"

#include <algorithm>
#include <span>

#include "core/cost_value.h"
#include "nginx/queue_worker.h"

namespace fairway::ngx {

namespace {

bool same(const ngx_str_t& a, const ngx_str_t& b) noexcept {
  return a.len != 0 && a.len == b.len && ngx_strncasecmp(a.data, b.data, a.len) == 0;
}

struct Reported {
  std::optional<queue::Nanos> cost, cpu;
};

Reported read_headers(Turn& turn, const ngx_http_upstream_t& upstream) noexcept {
  Reported reported;
  const auto take = [&turn](const ngx_table_elt_t& header, const ngx_str_t& name, std::optional<queue::Nanos>& value) {
    if (same(name, header.key)) {
      value = parse_cost(view(header.value));
      if (!value) {
        turn.client->shared().bad_costs.fetch_add(1, std::memory_order_relaxed);
      }
    }
  };
  for (const ngx_list_part_t* part = &upstream.headers_in.headers.part; part != nullptr && part->elts != nullptr; part = part->next) {
    for (const ngx_table_elt_t& header : std::span(static_cast<const ngx_table_elt_t*>(part->elts), part->nelts)) {
      take(header, str(turn.conf->cost_header), reported.cost);
      take(header, str(turn.conf->cpu_header), reported.cpu);
    }
  }
  return reported;
}

}  // namespace

queue::Outcome upstream_outcome(Turn& turn) noexcept {
  const ngx_http_upstream_t* upstream = turn.upstream;
  if (turn.r->cached || (upstream == nullptr ? turn.r->upstream == nullptr : upstream->state == nullptr)) {
    return {std::nullopt, true, false};
  }
  queue::Outcome outcome;
  outcome.finished = upstream != nullptr && upstream->headers_in.status_n != 0;
  const queue::Nanos now = steady_clock_ns();
  queue::Nanos blocked = turn.blocked;
  if (turn.blocked_since != 0) {
    blocked += now - turn.blocked_since;
  }
  const Reported reported = upstream == nullptr ? Reported{} : read_headers(turn, *upstream);
  const queue::Nanos held = std::max<queue::Nanos>(1, now - turn.started - blocked);
  turn.cpu = reported.cpu.value_or(0);
  outcome.cost = std::max(reported.cost.value_or(held), turn.cpu);
  return outcome;
}

bool is_cost_header(const QueueConf& conf, const ngx_str_t& name) noexcept {
  return same(str(conf.cost_header), name) || same(str(conf.cpu_header), name);
}

}  // namespace fairway::ngx
