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

void end_session(Worker& worker, const RoomConf& room, const Token& token) noexcept {
  worker.end_session(room, token.sid);
  room::Operation operation;
  operation.kind = room::Kind::release;
  operation.sid = token.sid;
  operation.epoch = token.epoch;
  operation.number = token.number;
  operation.admitted = token.admitted * kSecond;
  room::Answer answer;
  worker.call(room, {&operation, 1}, {&answer, 1});
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
    return settle(Verdict::Action::refuse_prefetch, Outcome::waiting);
  }
  if (shown_.pass) {
    return heartbeat();
  }
  return has_ticket() ? enter() : newcomer();
}

Reply Gate::status() noexcept {
  Verdict verdict;
  if (shown_.pass && young(shown_.pass_token)) {
    name(shown_.pass_token);
    return simple(page::Kind::waiting, "admitted", 0);
  }
  if (!shows_token()) {
    return simple(page::Kind::waiting, "unknown", 1);
  }
  const Token& token = shown_.pass ? shown_.pass_token : shown_.ticket_token;
  name(token);
  if (!shown_.pass && !worker_.allow_poll(room_, token.sid)) {
    return busy(token, kRetryTooOften).reply;
  }
  const room::Answer answer = ask(operation(room::Kind::poll, token));
  if (answer.state == room::State::unknown || answer.state == room::State::gone) {
    return simple(page::Kind::waiting, "unknown", 1);
  }
  verdict = act_on(answer, token);
  return verdict.action == Verdict::Action::through ? simple(page::Kind::waiting, "admitted", 0) : verdict.reply;
}

bool Gate::leave() noexcept {
  if (shown_.pass) {
    ngx::end_session(worker_, room_, shown_.pass_token);
  }
  if (has_ticket() && (!shown_.pass || shown_.ticket_token.sid != shown_.pass_token.sid)) {
    ngx::end_session(worker_, room_, shown_.ticket_token);
  }
  return shows_token();
}

Verdict Gate::heartbeat() noexcept {
  const Token pass = shown_.pass_token;
  const room::Answer answer = ask(operation(room::Kind::heartbeat, pass));
  switch (answer.state) {
    case room::State::admitted:
      give_pass(pass.sid, answer);
      return settle(Verdict::Action::through, Outcome::refreshed);
    case room::State::no_memory:
      renew_pass(pass);
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
  const bool counts = token.number == 0;  // a numbered ticket is no new session
  const sockaddr* address = r_->connection->sockaddr;
  const bool allowed = !counts || worker_.allow_entry(room_, address);
  // whoever may not come anew may still hold a place
  const room::Answer answer = ask(operation(allowed ? room::Kind::enter : room::Kind::poll, token));
  if (counts && allowed && !answer.created) {
    worker_.refund_entry(room_, address);
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
  room::Answer answer = ask(operation(shown_.pass ? room::Kind::heartbeat : room::Kind::enter, token));
  if (answer.state == room::State::gone) {
    token = {};
    if (worker_.random(token.sid.bytes.data(), token.sid.bytes.size())) {
      answer = ask(operation(room::Kind::enter, token));
    }
  }
  name(token);
  if (answer.state == room::State::admitted) {
    give_pass(token.sid, answer);
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
      give_ticket(token.sid, answer.epoch, answer.number);
      return settle(Verdict::Action::reply, Outcome::waiting, describe(answer));
    case room::State::closed:
      give_ticket(token.sid, token.epoch, token.number);  // the place is kept, so its ticket has to live on
      return settle(Verdict::Action::reply, Outcome::closed, simple(page::Kind::closed, "closed", jitter(kRetryClosed)));
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
