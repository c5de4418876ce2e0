// The gate's dealings with sessions that end, by the visitor's or the application's wish.
#include "nginx/gate.h"
#include "nginx/store_client.h"

namespace fairway::ngx {

namespace {

constexpr Micros kSecond = 1'000'000;

room::Operation release_of(const Token& token) noexcept {
  room::Operation operation;
  operation.kind = room::Kind::release;
  operation.sid = token.sid;
  operation.epoch = token.epoch;
  operation.number = token.number;
  operation.admitted = token.admitted * kSecond;
  return operation;
}

}  // namespace

void end_session(Worker& worker, const RoomConf& room, const Token& token) noexcept {
  worker.end_session(room, token.sid);
  const room::Operation operation = release_of(token);
  if (worker.store() != nullptr) {
    worker.store()->release(room, operation);
    return;
  }
  room::Answer answer;
  worker.call(room, {&operation, 1}, {&answer, 1});
}

Verdict Gate::leave() noexcept {
  return shown_.pass ? end(shown_.pass_token, &Gate::after_leave) : has_ticket() ? end(shown_.ticket_token, &Gate::after_both) : Verdict{};
}

Verdict Gate::after_leave(const room::Answer& answer) noexcept {
  if (has_ticket() && shown_.ticket_token.sid != shown_.pass_token.sid) {
    (void)after_both(answer);
    return end(shown_.ticket_token, &Gate::after_both);
  }
  return after_both(answer);
}

Verdict Gate::after_both(const room::Answer&) noexcept {
  if (down_ && worker_.store() != nullptr) {
    worker_.store()->release(room_, question_);  // when it is back
  }
  return {};
}

Verdict Gate::end(const Token& token, Next next) noexcept {
  worker_.end_session(room_, token.sid);
  asked_ = token;
  next_ = next;
  question_ = release_of(token);
  return {Verdict::Action::ask, {}};
}

}  // namespace fairway::ngx
