// One request's turn at a fair queue: from arrival to the end of its upstream part. Made once per main request, kept in its cleanup
// chain; nobody outside the request holds a pointer to it except its worker's list, which the cleanup leaves.
#pragma once

#include <cstdint>

#include "core/queue_types.h"
#include "nginx/config.h"
#include "nginx/ngx.h"
#include "nginx/task.h"

namespace fairway::ngx {

class QueueClient;
struct VirtualTurn;

struct Turn {
  enum class Phase : std::uint8_t {
    idle,     // no slot asked for, or the slot given back
    reading,  // the request body is on its way
    waiting,  // in the queue
    running,  // holds a slot
    ending,   // the upstream part ended in this turn of the event loop; the slot goes back once nginx has closed the connection
    refused,  // full, evicted or timeout: 503
  };

  ngx_http_request_t* r = nullptr;
  const QueueConf* conf = nullptr;
  QueueClient* client = nullptr;
  Phase phase = Phase::idle;
  queue::Handle handle = 0;
  queue::Arrival arrival;
  queue::Nanos arrived = 0;
  queue::Nanos started = 0;
  queue::Outcome outcome;  // ending: how
  Task task;
  bool body_sync = false;  // the body handler runs inside the call that asked for the body
  bool body_done = false;
  ngx_event_t event{};       // wait timer; posted for a grant, an eviction and the end
  Turn* previous = nullptr;  // in the client's list while waiting or running
  Turn* next = nullptr;

  bool dry_run = false;              // runs at once; never in the client's list, never waiting or refused
  VirtualTurn* rehearsal = nullptr;  // dry run: the turn that waits and runs in its place; see queue_dry_run.h

  ngx_http_handler_pt content = nullptr;  // the location's own handler
  ngx_http_upstream_t* upstream = nullptr;
  void (*finalize)(ngx_http_request_t* r, ngx_int_t rc) = nullptr;
  queue::Nanos blocked = 0;        // time the upstream was held up by the client
  queue::Nanos blocked_since = 0;  // 0: it is not

  // For variables; they outlive the slot.
  bool has_status = false;
  queue::Status status = queue::Status::direct;
  queue::Nanos waited = 0;
  queue::Nanos cost = 0;
  queue::Nanos cpu = 0;
  queue::Nanos debt = 0;
  std::uint32_t retry_after = 0;  // refused: seconds
};

Turn* get_turn(ngx_http_request_t* r) noexcept;
Turn* find_turn(ngx_http_request_t* r) noexcept;

// Gives back the slot of a running turn, whose upstream part ended like this.
void release_slot(Turn& turn, const queue::Outcome& outcome) noexcept;
// Ends whatever the turn has of a slot; one that waits goes on waiting.
void give_back(Turn& turn) noexcept;

// PRECONTENT: takes a slot before the upstream is contacted.
ngx_int_t precontent_handler(ngx_http_request_t* r) noexcept;

// The header filter's part: 101, event-stream and cached responses end the turn; a refusal carries its Retry-After. False: no memory.
bool turn_sees_headers(ngx_http_request_t* r) noexcept;
// The body filter's part: is the client holding the upstream up?
void turn_sees_body(ngx_http_request_t* r) noexcept;

queue::Nanos steady_clock_ns() noexcept;

}  // namespace fairway::ngx
