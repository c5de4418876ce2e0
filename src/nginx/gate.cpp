#include "nginx/gate.h"

#include <algorithm>

#include "nginx/address.h"
#include "nginx/block.h"

namespace fairway::ngx {

namespace {

constexpr Micros kSecond = 1'000'000;
// Retry-After of the answers that do not come from a place in line, s (jittered).
constexpr std::uint32_t kRetryTooOften = 1;
constexpr std::uint32_t kRetryEntries = 10;
constexpr std::uint32_t kRetryFull = 30;
constexpr std::uint32_t kRetryClosed = 60;

}  // namespace

Verdict Gate::ask(room::Kind kind, const Token& token, Next next) noexcept {
  asked_ = token;
  next_ = next;
  question_ = operation(kind, token);
  return {Verdict::Action::ask, {}};
}

Verdict Gate::go_on(const StoreAnswer& answer) noexcept {
  down_ = answer.down;
  summary_ = answer.summary;
  return (this->*next_)(answer.answer);
}

Verdict Gate::decide() noexcept {
  if (bypassed()) {
    return settle(Verdict::Action::through, Outcome::bypassed);
  }
  if (shown_.pass) {
    name(shown_.pass_token);
    if (young(shown_.pass_token) || (is_subresource() && shown_.pass_token.issued > worker_.row(room_).cuts.latest())) {
      return settle(Verdict::Action::through, Outcome::pass);
    }
  }
  if (room_.settings.mode == room::Mode::open) {
    return enter_open();
  }
  if (is_prefetch(visit_)) {
    return settle(Verdict::Action::refuse_prefetch, Outcome::none);  // has no place, and asked for none
  }
  if (shown_.pass) {
    return heartbeat();
  }
  return has_ticket() ? enter() : newcomer();
}

Verdict Gate::status() noexcept {
  if (shown_.pass && young(shown_.pass_token)) {
    name(shown_.pass_token);
    return {Verdict::Action::through, {}};
  }
  if (!shows_token()) {
    return {Verdict::Action::reply, simple(page::Kind::waiting, "unknown", 1)};
  }
  const Token& token = shown_.pass ? shown_.pass_token : shown_.ticket_token;
  name(token);
  if (!shown_.pass && !worker_.allow_poll(room_, token.sid)) {
    return busy(token, kRetryTooOften);
  }
  // a pass counts as one: after a loss of the store's state its holder is inside, not in line
  return ask(shown_.pass ? room::Kind::heartbeat : room::Kind::poll, token, &Gate::after_status);
}

Verdict Gate::after_status(const room::Answer& answer) noexcept {
  if (down_) {
    return status_without_store();
  }
  if (answer.state == room::State::unknown || answer.state == room::State::gone) {
    return {Verdict::Action::reply, simple(page::Kind::waiting, "unknown", 1)};
  }
  return act_on(answer, asked_);
}

Verdict Gate::heartbeat() noexcept {
  return ask(room::Kind::heartbeat, shown_.pass_token, &Gate::after_heartbeat);
}

Verdict Gate::after_heartbeat(const room::Answer& answer) noexcept {
  const Token pass = asked_;
  if (down_ || answer.state == room::State::no_memory) {
    renew_pass(pass);
    return settle(Verdict::Action::through, Outcome::refreshed);
  }
  switch (answer.state) {
    case room::State::admitted:
      give_pass(pass.sid, answer);
      return settle(Verdict::Action::through, Outcome::refreshed);
    case room::State::gone:
    case room::State::unknown:
      return has_ticket() && shown_.ticket_token.sid != pass.sid ? enter() : newcomer();
    default:
      return act_on(answer, pass);
  }
}

Verdict Gate::enter() noexcept {
  const Token token = shown_.ticket_token;
  name(token);
  if (!worker_.allow_poll(room_, token.sid)) {
    return busy(token, kRetryTooOften);
  }
  counts_ = token.number == 0;  // a numbered ticket is no new session
  allowed_ = !counts_ || worker_.allow_entry(room_, r_->connection->sockaddr);
  // whoever may not come anew may still hold a place
  return ask(allowed_ ? room::Kind::enter : room::Kind::poll, token, &Gate::after_enter);
}

Verdict Gate::after_enter(const room::Answer& answer) noexcept {
  const Token token = asked_;
  if (down_) {
    return allowed_ ? enter_without_store() : busy(token, kRetryEntries);
  }
  if (counts_ && allowed_ && !answer.created) {
    worker_.refund_entry(room_, r_->connection->sockaddr);
  }
  if (answer.state == room::State::unknown) {
    return busy(token, kRetryEntries);
  }
  return act_on(answer, token);
}

// The room is open: everybody comes in, counted as inside even above capacity; whom the store has no room for comes in uncounted.
Verdict Gate::enter_open() noexcept {
  const bool known = shows_token();
  Token token = shown_.pass ? shown_.pass_token : shown_.ticket_token;
  if (!known && !worker_.random(token.sid.bytes.data(), token.sid.bytes.size())) {
    return settle(Verdict::Action::through, Outcome::open);
  }
  counts_ = true;  // may start anew, once
  return ask(shown_.pass ? room::Kind::heartbeat : room::Kind::enter, token, &Gate::after_enter_open);
}

Verdict Gate::after_enter_open(const room::Answer& answer) noexcept {
  if (!down_ && answer.state == room::State::gone && counts_) {
    Token token;
    counts_ = false;
    if (worker_.random(token.sid.bytes.data(), token.sid.bytes.size())) {
      return ask(room::Kind::enter, token, &Gate::after_enter_open);
    }
  }
  name(asked_);
  if (down_ && shown_.pass) {
    renew_pass(shown_.pass_token);
  } else if (down_) {
    give_unseen_pass(asked_.sid);
  } else if (answer.state == room::State::admitted) {
    give_pass(asked_.sid, answer);
  }
  return settle(Verdict::Action::through, Outcome::open);
}

// No valid token: no state is made anywhere, but the next request can show a ticket.
Verdict Gate::newcomer() noexcept {
  Token token;
  if (!worker_.random(token.sid.bytes.data(), token.sid.bytes.size())) {
    return {Verdict::Action::failed, {}};
  }
  name(token);
  visit_.pass = {};
  give_ticket(token.sid, 0, 0);
  if (is_page_request(visit_) && is_read(r_)) {
    return settle(Verdict::Action::redirect_to_check, Outcome::fresh);
  }
  return settle(Verdict::Action::reply, Outcome::fresh, simple(page::Kind::unprocessed, "unknown", 1));
}

Verdict Gate::act_on(const room::Answer& answer, const Token& token) noexcept {
  switch (answer.state) {
    case room::State::admitted:
      give_pass(token.sid, answer);
      give_ticket(token.sid, answer.epoch, answer.number);
      return settle(Verdict::Action::through, Outcome::admitted);
    case room::State::waiting:
      visit_.pass = {};
      visit_.rank = answer.rank;
      worker_.rank_told(token.sid, answer.rank);
      give_ticket(token.sid, answer.epoch, answer.number);
      return settle(Verdict::Action::reply, Outcome::waiting, describe(answer));
    case room::State::closed:
      return closed(token, answer);
    case room::State::full:
    case room::State::no_memory:
      return busy(token, kRetryFull);
    default:
      return newcomer();
  }
}

Reply Gate::describe(const room::Answer& answer) noexcept {
  Reply reply;
  reply.status = room_.page_status;
  reply.rank = answer.rank;
  reply.waiting = summary_.waiting;
  reply.paused = summary_.recovering || room_.settings.mode == room::Mode::hold || room_.settings.capacity == 0;
  reply.retry_after = jittered_seconds(answer.interval, worker_.random64());
  if (!reply.paused && answer.rank != 0) {
    const room::Settings& settings = room_.settings;
    const double limit = settings.rate_window == 0 ? 0
                                                   : static_cast<double>(settings.rate) * static_cast<double>(kSecond) /
                                                         static_cast<double>(settings.rate_window);
    reply.eta = worker_.row(room_).rate.wait(answer.rank, limit);
  }
  return reply;
}

Reply Gate::simple(page::Kind kind, std::string_view state, std::uint32_t retry_after) noexcept {
  Reply reply;
  reply.kind = kind;
  reply.state = state;
  reply.retry_after = retry_after;
  return reply;
}

// The place is kept, so its ticket has to live on, and its holder has to ask as often as before: who does not is passed over when the
// line opens again.
Verdict Gate::closed(const Token& token, const room::Answer& answer) noexcept {
  const bool in_line = answer.number != 0;
  give_ticket(token.sid, in_line ? answer.epoch : token.epoch, in_line ? answer.number : token.number);
  const Micros interval = in_line ? answer.interval : kRetryClosed * kSecond;
  return settle(Verdict::Action::reply, Outcome::closed,
                simple(page::Kind::closed, "closed", jittered_seconds(interval, worker_.random64())));
}

// Whatever the token claims is kept: a held place is never lost by a busy answer.
Verdict Gate::busy(const Token& token, std::uint32_t retry_after) noexcept {
  give_ticket(token.sid, token.epoch, token.number);
  const std::uint32_t wait = retry_after == kRetryTooOften ? kRetryTooOften : jitter(retry_after);
  return settle(Verdict::Action::reply, Outcome::busy, simple(page::Kind::busy, "busy", wait));
}

Verdict Gate::settle(Verdict::Action action, Outcome outcome, const Reply& reply) noexcept {
  visit_.outcome = outcome;
  return {action, reply};
}

void Gate::name(const Token& token) noexcept {
  visit_.named = true;
  visit_.session = token;
}

std::uint32_t Gate::jitter(std::uint32_t seconds) noexcept {
  return jittered_seconds(static_cast<Micros>(seconds) * kSecond, worker_.random64());
}

bool Gate::bypassed() const noexcept {
  if (r_->method == NGX_HTTP_OPTIONS && !visit_.seen.origin.empty() && !visit_.seen.preflight_method.empty()) {
    return true;  // a CORS preflight carries no cookies, whoever sends it
  }
  return any_true(r_, room_.bypass);
}

bool Gate::young(const Token& pass) const noexcept {
  return pass.issued <= now_ && now_ - pass.issued < room_.refresh && pass.issued > worker_.row(room_).cuts.latest() &&
         !worker_.shared().ended->crowded(now_);
}

bool Gate::is_subresource() const noexcept {
  static constexpr std::string_view kDestinations[] = {"image", "style", "script", "font", "audio", "video", "track"};
  return std::ranges::find(kDestinations, visit_.seen.fetch_dest) != std::end(kDestinations);
}

}  // namespace fairway::ngx
