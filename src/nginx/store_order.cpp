#include "nginx/store_order.h"

namespace fairway::ngx {

StoreOrder::~StoreOrder() {
  if (ticket_ != 0) {
    worker_.store()->withdraw(ticket_);
  }
}

void StoreOrder::ask(room::Kind kind, const Sid& sid) noexcept {
  room::Operation operation;
  operation.kind = kind;
  operation.sid = sid;
  if (worker_.store() != nullptr) {
    asked(worker_.store()->ask(*this, room_, operation));
    return;
  }
  worker_.call(room_, {&operation, 1}, {&answer_, 1});
  reached_ = true;
}

void StoreOrder::cut(const room::Cut& cut) noexcept {
  cut_ = cut;
  if (worker_.store() != nullptr) {
    asked(worker_.store()->cut(*this, room_, cut));
    return;
  }
  status_ = worker_.cut(room_, cut);
  reached_ = true;
}

void StoreOrder::go_on(std::uint64_t cut_id) noexcept {
  if (worker_.store() != nullptr) {
    asked(worker_.store()->go_on(*this, room_, cut_id));
    return;
  }
  status_ = worker_.go_on(room_, cut_id);
  reached_ = true;
}

void StoreOrder::asked(StoreClient::Ticket ticket) noexcept {
  ticket_ = ticket;
  reached_ = false;
}

void StoreOrder::answered(const valkey::Completion& completion) noexcept {
  const bool first = status_.id == 0;
  ticket_ = 0;
  reached_ = completion.outcome == valkey::Outcome::answered;
  if (reached_) {
    answer_ = completion.answer;
    status_ = completion.cut;
    if (first && status_.id != 0) {
      worker_.note_cut(room_, {cut_, completion.summary.now, completion.summary.last_number, status_.id});
    }
  }
  if (wake_ != nullptr) {
    post(wake_);
  }
}

}  // namespace fairway::ngx
