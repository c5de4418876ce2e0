#include "nginx/queue_dry_run.h"

#include <algorithm>

#include "nginx/queue_worker.h"

namespace fairway::ngx {

struct VirtualTurn {
  Turn turn;              // has no request; its `outcome` is the real one
  bool attached = true;   // the request still looks at it
  bool ended = false;     // the real upstream part has
  queue::Nanos took = 0;  // and took so long
};

namespace {

constexpr std::size_t kMost = 16'384;  // in a worker; some 500 bytes each

std::size_t count = 0;

void drop_if_over(VirtualTurn& rehearsal) noexcept {
  const Turn::Phase phase = rehearsal.turn.phase;
  if (!rehearsal.attached && phase != Turn::Phase::waiting && phase != Turn::Phase::running) {
    delete_timer(&rehearsal.turn.event);
    unpost(&rehearsal.turn.event);
    delete &rehearsal;
    --count;
  }
}

// What there is to do after any change: the virtual slot goes back once it was held as long as the real upstream part took.
void go_on(VirtualTurn& rehearsal) noexcept {
  Turn& turn = rehearsal.turn;
  if (turn.phase == Turn::Phase::running && rehearsal.ended) {
    const queue::Nanos left = turn.started + rehearsal.took - steady_clock_ns();
    if (left > 0) {
      add_timer(&turn.event, static_cast<ngx_msec_t>((left + queue::kMillisecond - 1) / queue::kMillisecond));
      return;
    }
    turn.client->release(turn, turn.outcome);
  }
  drop_if_over(rehearsal);
}

// The wait or the virtual upstream part is over by time, or the queue has sent mail.
void on_virtual_event(ngx_event_t* event) noexcept {
  auto& rehearsal = *static_cast<VirtualTurn*>(event->data);
  if (rehearsal.turn.phase == Turn::Phase::waiting) {
    rehearsal.turn.client->time_out(rehearsal.turn);
  }
  go_on(rehearsal);
}

VirtualTurn* make_virtual(const Turn& real) noexcept {
  auto* rehearsal = count < kMost ? new (std::nothrow) VirtualTurn : nullptr;
  if (rehearsal == nullptr) {
    return nullptr;
  }
  ++count;
  Turn& turn = rehearsal->turn;
  turn.conf = real.conf;
  turn.client = real.client;
  turn.arrival = real.arrival;
  turn.event.handler = on_virtual_event;
  turn.event.data = rehearsal;
  turn.event.log = ngx_cycle->log;
  turn.event.cancelable = 1;  // no reason for an exiting worker to stay
  return rehearsal;
}

}  // namespace

void rehearse(Turn& turn) noexcept {
  turn.phase = Turn::Phase::running;
  turn.rehearsal = make_virtual(turn);
  turn.has_status = turn.rehearsal != nullptr;
  if (turn.rehearsal != nullptr) {
    Turn& other = turn.rehearsal->turn;
    other.client->acquire(other);
    turn.debt = other.debt;
    if (other.phase == Turn::Phase::waiting) {
      add_timer(&other.event, static_cast<ngx_msec_t>(other.conf->limits.timeout / queue::kMillisecond));
    }
  }
  turn.started = steady_clock_ns();  // not before a virtual turn that came directly, so that the two end together and without a timer
}

void end_rehearsal(Turn& turn, const queue::Outcome& outcome) noexcept {
  turn.phase = Turn::Phase::idle;
  if (VirtualTurn* rehearsal = turn.rehearsal) {
    turn.cost += outcome.cost.value_or(0);
    rehearsal->ended = true;
    rehearsal->took = std::max<queue::Nanos>(0, steady_clock_ns() - turn.started);
    rehearsal->turn.outcome = outcome;
    go_on(*rehearsal);  // which cannot be its end: it is attached
  }
}

void look_at_rehearsal(Turn& turn) noexcept {
  if (turn.rehearsal == nullptr) {
    return;
  }
  const Turn& other = turn.rehearsal->turn;
  const bool waits = other.phase == Turn::Phase::waiting;
  turn.status = waits ? queue::Status::queued : other.status;
  turn.waited = waits ? steady_clock_ns() - other.arrived : other.waited;
}

void leave_rehearsal(Turn& turn) noexcept {
  if (turn.rehearsal != nullptr) {
    look_at_rehearsal(turn);
    turn.rehearsal->attached = false;
    drop_if_over(*std::exchange(turn.rehearsal, nullptr));
  }
}

}  // namespace fairway::ngx
