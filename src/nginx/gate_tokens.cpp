// The gate's dealings with tokens: which of those shown counts, and what is given out.
#include <algorithm>

#include "core/cookies.h"
#include "nginx/address.h"
#include "nginx/gate.h"

namespace fairway::ngx {

namespace {

constexpr Micros kSecond = 1'000'000;

std::int64_t seconds(Micros time) noexcept {
  return time / kSecond;
}

}  // namespace

Gate::Gate(ngx_http_request_t* r, Visit& visit, const RoomConf& room, Worker& worker) noexcept
    : r_(r), visit_(visit), room_(room), worker_(worker), now_(ngx_time()) {
  read(TokenKind::pass);
  if (visit.header_form()) {
    has_ticket();  // the answer carries the current ones
  }
}

bool Gate::has_ticket() noexcept {
  if (!shown_.read_tickets) {
    shown_.read_tickets = true;
    read(TokenKind::ticket);
  }
  return shown_.ticket;
}

bool Gate::shows_token() noexcept {
  return shown_.pass || has_ticket();
}

void Gate::read(TokenKind kind) noexcept {
  const Network network = room_.bind_network ? network_of(r_->connection->sockaddr) : Network{};
  const std::string_view cookie = view(kind == TokenKind::pass ? room_.pass_cookie : room_.ticket_cookie);
  std::size_t tried = 0;  // of several cookies of one name four are looked at
  for (const OurCookie& shown : visit_.our_cookies()) {
    if (shown.name == cookie && tried++ < kMaxSameCookies) {
      consider(shown.value, kind, network);
    }
  }
  if (const std::string_view text = kind == TokenKind::pass ? visit_.seen.pass : visit_.seen.ticket; !text.empty()) {
    consider(text, kind, network);
  }
}

// The newest of several valid ones wins; a session that ended shows nothing.
void Gate::consider(std::string_view text, TokenKind kind, const Network& network) noexcept {
  TokenContext context;
  context.room = view(room_.name);
  context.kind = kind;
  context.now = now_;
  context.bind_network = room_.bind_network;
  context.network = network;
  context.expired_grace = kind == TokenKind::pass ? seconds(room_.settings.return_grace) : 0;
  Token token;
  if (const TokenError error = worker_.tokens().verify(worker_.keys(), context, text, token); error != TokenError::none) {
    worker_.shared().token_errors[static_cast<std::size_t>(error)].fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (worker_.shared().ended->contains(token.sid, now_) || worker_.is_cut(room_, token, network_of(r_->connection->sockaddr))) {
    return;
  }
  const bool is_pass = kind == TokenKind::pass && now_ < token.expires;
  bool& have = is_pass ? shown_.pass : shown_.ticket;
  Token& best = is_pass ? shown_.pass_token : shown_.ticket_token;
  if (have && best.issued > token.issued) {
    return;
  }
  have = true;
  best = token;
  if (kind == TokenKind::ticket) {
    visit_.ticket = text;
  } else if (is_pass) {
    visit_.pass = text;
  }
}

room::Operation Gate::operation(room::Kind kind, const Token& token) const noexcept {
  room::Operation operation;
  operation.kind = kind;
  operation.sid = token.sid;
  operation.epoch = token.epoch;
  operation.number = token.number;
  operation.admitted = token.admitted * kSecond;
  operation.network = network_of(r_->connection->sockaddr);
  if (token.kind == TokenKind::ticket) {
    operation.gap = std::max<std::int64_t>(0, now_ - token.issued) * kSecond;
  }
  return operation;
}

std::string_view Gate::sign(const Token& token) noexcept {
  char text[kMaxTokenSize];
  const std::size_t size = write_token(worker_.keys(), view(room_.name), token, std::span<char, kMaxTokenSize>(text));
  return view(copy(r_->pool, {text, size}));
}

void Gate::give_ticket(const Sid& sid, std::uint64_t epoch, std::uint64_t number) noexcept {
  Token token;
  token.kind = TokenKind::ticket;
  token.sid = sid;
  token.issued = now_;
  token.expires = now_ + seconds(room_.settings.abandon_timeout + room_.settings.return_grace);
  token.epoch = number == 0 ? 0 : epoch;
  token.number = number;
  token.network = room_.bind_network ? network_of(r_->connection->sockaddr) : Network{};
  visit_.ticket = sign(token);
  visit_.ticket_age = token.expires - now_;
  visit_.set_ticket = !visit_.ticket.empty();
  if (number != 0) {
    worker_.token_given(room_, token.expires);
  }
}

void Gate::give_pass(const Sid& sid, const room::Answer& answer) noexcept {
  if (answer.came_in) {
    worker_.row(room_).waits.count(answer.admitted_at - static_cast<Micros>(answer.number));
  }
  Token token;
  token.kind = TokenKind::pass;
  token.sid = sid;
  token.expires = now_ + std::max<std::int64_t>(1, seconds(answer.expires - summary_.now));
  token.epoch = answer.epoch;
  token.number = answer.number;
  token.admitted = seconds(answer.admitted_at);
  give_pass(token);
}

// The store could not be told: the pass goes on by itself, up to session_max.
void Gate::renew_pass(const Token& pass) noexcept {
  Token token = pass;
  token.expires = now_ + seconds(room_.settings.session_timeout);
  if (room_.settings.session_max != 0) {
    token.expires = std::min(token.expires, std::max(pass.expires, pass.admitted + seconds(room_.settings.session_max)));
  }
  give_pass(token);
}

// For one who comes in while the store is down: taken over as inside when it is back.
void Gate::give_unseen_pass(const Sid& sid) noexcept {
  Token token;
  token.kind = TokenKind::pass;
  token.sid = sid;
  token.admitted = now_;
  token.expires = now_ + seconds(room_.settings.session_timeout);
  give_pass(token);
}

void Gate::give_pass(const Token& pass) noexcept {
  Token token = pass;
  token.issued = now_;
  token.network = room_.bind_network ? network_of(r_->connection->sockaddr) : Network{};
  name(token);
  visit_.pass = sign(token);
  visit_.pass_age = token.expires - now_;
  visit_.set_pass = !visit_.pass.empty();
  worker_.token_given(room_, token.expires);
}

}  // namespace fairway::ngx
