// A turn's life: found by its request, and ended with it.
#include "nginx/queue_dry_run.h"
#include "nginx/queue_worker.h"
#include "nginx/reported_cost.h"
#include "nginx/turn.h"

namespace fairway::ngx {

namespace {

// The end of the request, whatever ended it: a waiting one leaves the queue, a running one gives its slot back.
void turn_cleanup(void* data) noexcept {
  auto& turn = *static_cast<Turn*>(data);
  give_back(turn);
  if (turn.phase == Turn::Phase::waiting) {
    turn.client->cancel(turn);
  }
  turn.task = Task{};
  if (turn.r != nullptr) {  // nginx forgets the chain before it writes the log
    ngx_http_set_ctx(turn.r, &turn, ngx_http_fairway_filter_module);
  }
}

// Turns of this worker that no request has. A turn does not lie in its request's pool, which it would make spill into one more block,
// but as long as that pool: the log reads it after the cleanup chain ran. There are never more than there were requests at once.
Turn* unused_turns = nullptr;

void pool_cleanup(void* data) noexcept {
  auto* turn = static_cast<Turn*>(data);
  turn->next = unused_turns;
  unused_turns = turn;
}

Turn* new_turn() noexcept {
  if (unused_turns == nullptr) {
    return new (std::nothrow) Turn;
  }
  Turn* turn = unused_turns;
  unused_turns = turn->next;
  *turn = Turn{};
  return turn;
}

}  // namespace

void release_slot(Turn& turn, const queue::Outcome& outcome) noexcept {
  if (turn.dry_run) {
    end_rehearsal(turn, outcome);
  } else {
    turn.client->release(turn, outcome);
  }
}

void give_back(Turn& turn) noexcept {
  delete_timer(&turn.event);
  unpost(&turn.event);
  if (turn.phase == Turn::Phase::running) {
    release_slot(turn, upstream_outcome(turn));
  } else if (turn.phase == Turn::Phase::ending) {
    release_slot(turn, turn.outcome);
  }
  leave_rehearsal(turn);
}

Turn* find_turn(ngx_http_request_t* r) noexcept {
  r = r->main;
  if (void* turn = ngx_http_get_module_ctx(r, ngx_http_fairway_filter_module)) {
    return static_cast<Turn*>(turn);
  }
  for (ngx_http_cleanup_t* cleanup = r->cleanup; cleanup != nullptr; cleanup = cleanup->next) {
    if (cleanup->handler == turn_cleanup) {
      ngx_http_set_ctx(r, cleanup->data, ngx_http_fairway_filter_module);
      return static_cast<Turn*>(cleanup->data);
    }
  }
  return nullptr;
}

Turn* get_turn(ngx_http_request_t* r) noexcept {
  if (Turn* turn = find_turn(r)) {
    return turn;
  }
  ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r->main, 0);
  ngx_pool_cleanup_t* last = ngx_pool_cleanup_add(r->main->pool, 0);
  Turn* turn = cleanup == nullptr || last == nullptr ? nullptr : new_turn();
  if (turn == nullptr) {
    return nullptr;
  }
  cleanup->data = turn;
  cleanup->handler = turn_cleanup;
  last->data = turn;
  last->handler = pool_cleanup;
  ngx_http_set_ctx(r->main, turn, ngx_http_fairway_filter_module);
  return turn;
}

}  // namespace fairway::ngx
