#include "nginx/gate.h"

#include <algorithm>

#include "nginx/address.h"

namespace fairway::ngx {

namespace {

constexpr Micros kSecond = 1'000'000;
// Retry-After of the answers that do not come from a place in line, s (jittered).
constexpr std::uint32_t kRetryTooOften = 1;
constexpr std::uint32_t kRetryEntries = 10;
constexpr std::uint32_t kRetryFull = 30;
constexpr std::uint32_t kRetryClosed = 60;

}  // namespace

void end_session(Worker& worker, const RoomConf& room, const Sid& sid) noexcept {
  worker.end_session(room, sid);
  room::Operation operation;
  operation.kind = room::Kind::release;
  operation.sid = sid;
  room::Answer answer;
  worker.call(room, {&operation, 1}, {&answer, 1});
}

Verdict Gate::decide() noexcept {
  if (bypassed()) {
    return settle(Verdict::Action::through, Outcome::bypassed);
  }
  if (shown_.pass) {
    name(shown_.pass_token.sid);
    if (young(shown_.pass_token) || is_subresource()) {
      return settle(Verdict::Action::through, Outcome::pass);
    }
  }
  if (is_prefetch(visit_)) {
    return settle(Verdict::Action::refuse_prefetch, Outcome::waiting);
  }
  if (shown_.pass) {
    return heartbeat();
  }
  return shown_.ticket ? enter() : newcomer();
}

Reply Gate::status() noexcept {
  Verdict verdict;
  if (shown_.pass && young(shown_.pass_token)) {
    name(shown_.pass_token.sid);
    return simple(page::Kind::waiting, "admitted", 0);
  }
  if (!shown_.pass && !shown_.ticket) {
    return simple(page::Kind::waiting, "unknown", 1);
  }
  const Token& token = shown_.pass ? shown_.pass_token : shown_.ticket_token;
  name(token.sid);
  if (!shown_.pass && !worker_.allow_poll(room_, token.sid)) {
    return busy(kRetryTooOften).reply;
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
    ngx::end_session(worker_, room_, shown_.pass_token.sid);
  }
  if (shown_.ticket && (!shown_.pass || shown_.ticket_token.sid != shown_.pass_token.sid)) {
    ngx::end_session(worker_, room_, shown_.ticket_token.sid);
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
      return shown_.ticket && shown_.ticket_token.sid != pass.sid ? enter() : newcomer();
    default:
      return act_on(answer, pass);
  }
}

Verdict Gate::enter() noexcept {
  const Token token = shown_.ticket_token;
  name(token.sid);
  if (!worker_.allow_poll(room_, token.sid)) {
    return busy(kRetryTooOften);
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
    return busy(kRetryEntries);
  }
  return act_on(answer, token);
}

// No valid token: no state is made anywhere, but the next request can show a ticket.
Verdict Gate::newcomer() noexcept {
  Sid sid;
  if (!worker_.random(sid.bytes.data(), sid.bytes.size())) {
    return {Verdict::Action::failed, {}};
  }
  name(sid);
  visit_.pass = {};
  give_ticket(sid, 0, 0);
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
      return settle(Verdict::Action::through, room_.settings.mode == room::Mode::open ? Outcome::open : Outcome::admitted);
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
      give_ticket(token.sid, token.epoch, token.number);
      return busy(kRetryFull);
    default:
      return newcomer();
  }
}

Reply Gate::describe(const room::Answer& answer) noexcept {
  Reply reply;
  reply.in_line = true;
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

Verdict Gate::busy(std::uint32_t retry_after) noexcept {
  const std::uint32_t wait = retry_after == kRetryTooOften ? kRetryTooOften : jitter(retry_after);
  return settle(Verdict::Action::reply, Outcome::busy, simple(page::Kind::busy, "busy", wait));
}

Verdict Gate::settle(Verdict::Action action, Outcome outcome, const Reply& reply) noexcept {
  visit_.outcome = outcome;
  return {action, reply};
}

void Gate::name(const Sid& sid) noexcept {
  visit_.has_sid = true;
  visit_.sid = sid;
}

std::uint32_t Gate::jitter(std::uint32_t seconds) noexcept {
  return jittered_seconds(static_cast<Micros>(seconds) * kSecond, worker_.random64());
}

bool Gate::bypassed() const noexcept {
  if (r_->method == NGX_HTTP_OPTIONS && !visit_.seen.origin.empty() && !visit_.seen.preflight_method.empty()) {
    return true;  // a CORS preflight carries no cookies, whoever sends it
  }
  if (room_.bypass == nullptr) {
    return false;
  }
  for (ngx_http_complex_value_t& value : std::span(static_cast<ngx_http_complex_value_t*>(room_.bypass->elts), room_.bypass->nelts)) {
    ngx_str_t text;
    if (ngx_http_complex_value(r_, &value, &text) == NGX_OK && text.len != 0 && !(text.len == 1 && text.data[0] == '0')) {
      return true;
    }
  }
  return false;
}

bool Gate::young(const Token& pass) const noexcept {
  return pass.issued <= now_ && now_ - pass.issued < room_.refresh && !worker_.shared().ended->crowded(now_);
}

bool Gate::is_subresource() const noexcept {
  static constexpr std::string_view kDestinations[] = {"image", "style", "script", "font", "audio", "video", "track"};
  return std::ranges::find(kDestinations, visit_.seen.fetch_dest) != std::end(kDestinations);
}

}  // namespace fairway::ngx
