// What an upstream part cost, by the clock and by the application's word.
#pragma once

#include "core/queue_types.h"
#include "nginx/turn.h"

namespace fairway::ngx {

// How the running upstream part of `turn` ends now: free when no upstream was contacted, else the reported cost, or nothing (the
// time the slot was held less the time the client held it up). Notes the CPU time for the variables.
queue::Outcome upstream_outcome(Turn& turn) noexcept;

// True for the headers that cost_header and cpu_header name: they never reach the client.
bool is_cost_header(const QueueConf& conf, const ngx_str_t& name) noexcept;

}  // namespace fairway::ngx
