// fairway_dry_run with a fair queue: the request runs at once, and a virtual turn stands in the queue in its place. The virtual turn
// waits as the request would have waited, then holds its slot for as long as the real upstream part took. It may outlive the
// request, so it is the worker's, not the pool's; the queue counts it like any other.
#pragma once

#include "nginx/turn.h"

namespace fairway::ngx {

// In place of QueueClient::acquire: the turn is running afterwards, whatever the queue decided. A worker with too many virtual
// turns, or no memory, lets it run with no status.
void rehearse(Turn& turn) noexcept;
// In place of QueueClient::release: the real upstream part has ended.
void end_rehearsal(Turn& turn, const queue::Outcome& outcome) noexcept;
// Brings the turn's status and wait up to date: a virtual turn that waits is `queued` since then.
void look_at_rehearsal(Turn& turn) noexcept;
// The request takes its leave, with what is known by now.
void leave_rehearsal(Turn& turn) noexcept;

}  // namespace fairway::ngx
