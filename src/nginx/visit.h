// One request's visit to a room: what it showed, what was decided, what goes out with the response. Made once per main request,
// kept in the cleanup chain of the main request, since internal redirects clear nginx's own module contexts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/token.h"
#include "nginx/config.h"
#include "nginx/ngx.h"
#include "nginx/shared.h"

namespace fairway::ngx {

// The request headers that decisions look at, found in one pass.
struct Seen {
  std::string_view accept, accept_language, origin, x_requested_with, preflight_method;
  std::string_view fetch_mode, fetch_dest, fetch_site, purpose, sec_purpose;
  std::string_view ticket, pass;  // Fairway-Ticket, Fairway-Pass
  bool fairway = false;           // some Fairway-* header was there
};

struct OurCookie {
  std::string_view name, value;
};

struct Visit {
  ngx_http_request_t* r = nullptr;
  Seen seen;
  ngx_array_t cookies{};  // OurCookie: those that came, of all rooms, in order

  const RoomConf* room = nullptr;  // nullptr until a room was asked
  Outcome outcome = Outcome::none;
  bool own_answer = false;   // the response is Fairway's
  bool html_policy = false;  // … and a page: it carries the pages' Content-Security-Policy
  bool custom_page = false;  // … made from the site's own template
  bool sent = false;         // the header filter did its part
  bool named = false;        // `session` is known
  Token session;             // the token that names the session: shown or given out
  std::uint64_t rank = 0;

  // Tokens to hand out, as text in the pool; empty: none. `…_age`: remaining life in seconds.
  std::string_view ticket, pass;
  std::int64_t ticket_age = 0, pass_age = 0;
  bool set_ticket = false, set_pass = false;  // as cookies; the header form carries what is current
  bool clear = false;                         // both cookies are to go

  std::span<const OurCookie> our_cookies() const noexcept { return {static_cast<const OurCookie*>(cookies.elts), cookies.nelts}; }
  bool header_form() const noexcept { return !seen.ticket.empty() || !seen.pass.empty(); }
};

// The main request's visit, made on first use (nullptr: no memory); find_visit never makes one.
Visit* get_visit(ngx_http_request_t* r) noexcept;
Visit* find_visit(ngx_http_request_t* r) noexcept;

// Reads the headers a visit needs, and takes Fairway's cookies and headers out of what the upstream will see.
ngx_int_t read_request(ngx_http_request_t* r, Visit& visit) noexcept;

bool is_page_request(const Visit& visit) noexcept;
bool is_prefetch(const Visit& visit) noexcept;
bool is_read(const ngx_http_request_t* r) noexcept;  // GET or HEAD
// A non-GET/HEAD request from another site: never causes Set-Cookie.
bool is_cross_site_write(const ngx_http_request_t* r, const Visit& visit) noexcept;
// By Sec-Fetch-Site or Origin; neither present counts as same origin.
bool is_same_origin(const ngx_http_request_t* r, const Visit& visit) noexcept;

// Phase handlers: PREACCESS, and the endpoints below /__fairway/ in SERVER_REWRITE.
ngx_int_t preaccess_handler(ngx_http_request_t* r) noexcept;
ngx_int_t server_rewrite_handler(ngx_http_request_t* r) noexcept;

// The header filter's part, for every response of every server: Fairway-* headers of the application are obeyed and removed,
// cookies and tokens go out, caching is forbidden where a token is in the response.
ngx_int_t header_filter(ngx_http_request_t* r) noexcept;
extern ngx_http_output_header_filter_pt next_header_filter;
ngx_int_t body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept;
extern ngx_http_output_body_filter_pt next_body_filter;

ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

}  // namespace fairway::ngx
