// What a visitor meets while the store cannot be asked: on_store_failure. Those inside are the gate's own business.
#include <algorithm>

#include "nginx/gate.h"

namespace fairway::ngx {

namespace {

constexpr std::uint32_t kRetryDown = 5;  // s, jittered

}  // namespace

// The store is down and the visitor is not inside: in or out, as on_store_failure says. A place held in line is kept.
Verdict Gate::enter_without_store() noexcept {
  const bool open = room_.fail_open && room_.settings.mode == room::Mode::normal && room_.settings.capacity != 0;
  if (!open || !worker_.allow_unseen(room_)) {
    if (counts_) {
      worker_.refund_entry(room_, r_->connection->sockaddr);
    }
    return room_.settings.mode == room::Mode::closed ? closed(asked_, {}) : unavailable();
  }
  give_ticket(asked_.sid, asked_.epoch, asked_.number);
  give_unseen_pass(asked_.sid);
  return settle(Verdict::Action::through, Outcome::fail_open);
}

// … and only asks how things stand.
Verdict Gate::status_without_store() noexcept {
  if (shown_.pass) {
    renew_pass(asked_);
    return {};
  }
  if (!room_.fail_open) {
    return unavailable();
  }
  give_ticket(asked_.sid, asked_.epoch, asked_.number);
  Reply reply = simple(page::Kind::waiting, "waiting", jitter(kRetryDown));
  reply.rank = worker_.last_rank(asked_.sid);
  reply.waiting = std::max<std::uint64_t>(worker_.row(room_).summary.waiting, reply.rank);
  reply.paused = true;
  reply.stale = true;
  return settle(Verdict::Action::reply, Outcome::waiting, reply);
}

Verdict Gate::unavailable() noexcept {
  give_ticket(asked_.sid, asked_.epoch, asked_.number);
  Reply reply = simple(page::Kind::unavailable, "unavailable", jitter(kRetryDown));
  reply.status = NGX_HTTP_SERVICE_UNAVAILABLE;
  return settle(Verdict::Action::reply, Outcome::unavailable, reply);
}

}  // namespace fairway::ngx
