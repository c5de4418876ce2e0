// The header filter. It stands behind nginx's own headers filter, so whatever `expires` and `add_header` said is there to be seen.
#include <algorithm>
#include <charconv>
#include <string>

#include "nginx/answer.h"
#include "nginx/gate.h"
#include "nginx/reported_cost.h"
#include "nginx/turn.h"
#include "nginx/visit.h"
#include "page/page.h"

namespace fairway::ngx {

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;

namespace {

constexpr std::string_view kNoScripts = "default-src 'none'; frame-ancestors 'none'";

bool same(const ngx_str_t& text, std::string_view name) noexcept {
  return text.len == name.size() && ngx_strncasecmp(text.data, reinterpret_cast<u_char*>(const_cast<char*>(name.data())), name.size()) == 0;
}

bool begins(const ngx_str_t& text, std::string_view prefix) noexcept {
  return text.len >= prefix.size() &&
         ngx_strncasecmp(text.data, reinterpret_cast<u_char*>(const_cast<char*>(prefix.data())), prefix.size()) == 0;
}

template <class F>
void each(ngx_list_t& headers, F function) noexcept {
  for (ngx_list_part_t* part = &headers.part; part != nullptr; part = part->next) {
    for (ngx_table_elt_t& header : std::span(static_cast<ngx_table_elt_t*>(part->elts), part->nelts)) {
      if (header.hash != 0) {
        function(header);
      }
    }
  }
}

// The application's word on the session, from a response fetched for this very request.
bool application_ends_session(ngx_http_request_t* r) noexcept {
  if (r->upstream == nullptr || r->cached) {
    return false;
  }
  bool end = false;
  if (r->upstream->headers_in.headers.part.elts != nullptr) {
    each(r->upstream->headers_in.headers,
         [&end](ngx_table_elt_t& header) { end = end || (same(header.key, "Fairway-Session") && same(header.value, "end")); });
  }
  return end;
}

bool is_caching(const ngx_str_t& name) noexcept {
  static constexpr std::string_view kNames[] = {"Cache-Control", "Expires", "ETag", "Last-Modified", "Pragma", "Surrogate-Control"};
  return std::ranges::any_of(kNames, [&name](std::string_view other) { return same(name, other); }) || begins(name, "CDN-") ||
         (name.len > 18 && same({18, name.data + name.len - 18}, "-CDN-Cache-Control"));
}

bool is_shared_caching(const ngx_str_t& name) noexcept {
  return same(name, "Surrogate-Control") || begins(name, "CDN-Cache-Control") ||
         (name.len > 18 && same({18, name.data + name.len - 18}, "-CDN-Cache-Control"));
}

bool forbid_caching(ngx_http_request_t* r, const Visit& visit) noexcept {
  each(r->headers_out.headers, [](ngx_table_elt_t& header) {
    if (is_caching(header.key) || begins(header.key, "Content-Security-Policy") || same(header.key, "X-Robots-Tag")) {
      header.hash = 0;
    }
  });
  std::string_view policy = kNoScripts;
  if (!visit.policy.empty()) {
    policy = visit.policy;
  } else if (visit.html_policy) {
    policy = visit.custom_page ? page::custom_policy() : page::builtin_policy();
  }
  if (!visit.etag.empty() && !add_header(r, "ETag", visit.etag)) {
    return false;
  }
  return add_header(r, "Cache-Control", "no-store") && add_header(r, "X-Robots-Tag", "noindex") &&
         add_header(r, "X-Content-Type-Options", "nosniff") && add_header(r, "Content-Security-Policy", policy);
}

// Where the first directive of a Cache-Control value ends: at a comma outside of quotes.
std::size_t directive_size(std::string_view said) noexcept {
  bool quoted = false;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (quoted && said[i] == '\\') {
      ++i;
    } else if (said[i] == '"') {
      quoted = !quoted;
    } else if (said[i] == ',' && !quoted) {
      return i;
    }
  }
  return said.size();
}

// "private" in place of public and s-maxage; the rest of what the application said about caching stays.
std::string private_directives(std::string_view said) {
  std::string out = "private";
  while (!said.empty()) {
    const std::size_t comma = directive_size(said);
    std::string_view directive = said.substr(0, comma);
    said.remove_prefix(std::min(comma + 1, said.size()));
    while (!directive.empty() && (directive.front() == ' ' || directive.front() == '\t')) {
      directive.remove_prefix(1);
    }
    while (!directive.empty() && (directive.back() == ' ' || directive.back() == '\t')) {
      directive.remove_suffix(1);
    }
    const ngx_str_t name = str(directive.substr(0, directive.find('=')));
    if (!directive.empty() && !same(name, "public") && !same(name, "private") && !same(name, "s-maxage")) {
      out.append(", ").append(directive);
    }
  }
  return out;
}

bool make_private(ngx_http_request_t* r) noexcept {
  try {
    std::string said;
    each(r->headers_out.headers, [&said](ngx_table_elt_t& header) {
      if (same(header.key, "Cache-Control")) {
        said.append(said.empty() ? "" : ",").append(view(header.value));
        header.hash = 0;
      } else if (is_shared_caching(header.key)) {
        header.hash = 0;
      }
    });
    const ngx_str_t value = copy(r->pool, private_directives(said));
    return value.data != nullptr && add_header(r, "Cache-Control", view(value));
  } catch (...) {
    return false;
  }
}

bool set_cookie(ngx_http_request_t* r, const RoomConf& room, const ngx_str_t& name, std::string_view value, std::int64_t age) noexcept {
  const bool secure = room.cookie_secure == Secure::on || (room.cookie_secure == Secure::automatic && r->connection->ssl != nullptr);
  try {
    std::string cookie;
    cookie.reserve(name.len + value.size() + 128);
    cookie.append(view(name)).append("=").append(value).append("; Path=/; HttpOnly; SameSite=Lax; Max-Age=");
    cookie.append(std::to_string(std::max<std::int64_t>(age, 0)));
    if (!room.cookie_domain.empty()) {
      cookie.append("; Domain=").append(room.cookie_domain);
    }
    if (secure) {
      cookie.append("; Secure");
    }
    const ngx_str_t text = copy(r->pool, cookie);
    return text.data != nullptr && add_header(r, "Set-Cookie", view(text));
  } catch (...) {
    return false;
  }
}

// The cookies the visit decided on; `out` tells whether the response carries one.
bool hand_out_cookies(ngx_http_request_t* r, const Visit& visit, bool& out) noexcept {
  const RoomConf& room = *visit.room;
  if (visit.clear) {
    out = true;
    return set_cookie(r, room, room.ticket_cookie, {}, 0) && set_cookie(r, room, room.pass_cookie, {}, 0);
  }
  out = visit.set_ticket || visit.set_pass;
  return (!visit.set_ticket || set_cookie(r, room, room.ticket_cookie, visit.ticket, visit.ticket_age)) &&
         (!visit.set_pass || set_cookie(r, room, room.pass_cookie, visit.pass, visit.pass_age));
}

// The current tokens, for a client that carries them in headers.
bool hand_out_headers(ngx_http_request_t* r, const Visit& visit, bool& out) noexcept {
  out = out || !visit.ticket.empty() || !visit.pass.empty();
  return (visit.ticket.empty() || add_header(r, "Fairway-Ticket", visit.ticket)) &&
         (visit.pass.empty() || add_header(r, "Fairway-Pass", visit.pass));
}

bool hand_out(ngx_http_request_t* r, const Visit& visit, bool& out) noexcept {
  if (!is_cross_site_write(r, visit) && !hand_out_cookies(r, visit, out)) {
    return false;
  }
  return visit.clear || !visit.header_form() || !visit.our_cookies().empty() || hand_out_headers(r, visit, out);
}

}  // namespace

ngx_int_t header_filter(ngx_http_request_t* r) noexcept {
  if (r != r->main) {
    return next_header_filter(r);
  }
  const LocConf* conf = loc_conf(r);
  each(r->headers_out.headers, [conf](ngx_table_elt_t& header) {
    if (begins(header.key, "Fairway-") || (conf->queue != nullptr && is_cost_header(*conf->queue, header.key))) {
      header.hash = 0;
    }
  });
  if ((conf->queue != nullptr || r->internal != 0) && !turn_sees_headers(r)) {  // internal: the turn may be that of another location
    return NGX_ERROR;
  }
  Visit* visit = find_visit(r);
  if (visit == nullptr || visit->room == nullptr || visit->sent) {
    if (visit != nullptr && visit->own_answer && !visit->sent && !forbid_caching(r, *visit)) {
      return NGX_ERROR;
    }
    return next_header_filter(r);
  }
  visit->sent = true;
  Worker* worker = Worker::get();
  if (worker != nullptr && !visit->own_answer && visit->named && application_ends_session(r)) {
    end_session(*worker, *visit->room, visit->session);
    visit->clear = true;
  }
  bool token_out = false;
  if (!hand_out(r, *visit, token_out)) {
    return NGX_ERROR;
  }
  if (visit->own_answer ? !forbid_caching(r, *visit) : (token_out && !make_private(r))) {
    return NGX_ERROR;
  }
  return next_header_filter(r);
}

ngx_int_t body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
  const ngx_int_t rc = next_body_filter(r, in);
  if (r == r->main && rc != NGX_ERROR && loc_conf(r)->queue != nullptr) {
    turn_sees_body(r);
  }
  return rc;
}

}  // namespace fairway::ngx
