// What a request shows: headers that decisions look at, cookies and tokens; and taking ours out before the upstream sees them.
#include <algorithm>

#include "core/cookies.h"
#include "nginx/visit.h"

namespace fairway::ngx {

namespace {

// Marks our entry in the chain. nginx forgets the chain before it writes the log, so the visit goes back to the module's context.
void visit_cleanup(void* data) noexcept {
  auto* visit = static_cast<Visit*>(data);
  ngx_http_set_ctx(visit->r, visit, ngx_http_fairway_module);
}

struct Wanted {
  std::string_view name;  // lower case
  std::string_view Seen::*place;
};

constexpr Wanted kWanted[] = {
    {"accept", &Seen::accept},
    {"origin", &Seen::origin},
    {"purpose", &Seen::purpose},
    {"sec-purpose", &Seen::sec_purpose},
    {"fairway-pass", &Seen::pass},
    {"fairway-ticket", &Seen::ticket},
    {"sec-fetch-mode", &Seen::fetch_mode},
    {"sec-fetch-dest", &Seen::fetch_dest},
    {"sec-fetch-site", &Seen::fetch_site},
    {"accept-language", &Seen::accept_language},
    {"x-requested-with", &Seen::x_requested_with},
    {"access-control-request-method", &Seen::preflight_method},
};

constexpr std::string_view kPrefix = "fairway-";

bool is_ours(const ngx_table_elt_t& header) noexcept {
  return header.key.len > kPrefix.size() && std::string_view(reinterpret_cast<const char*>(header.lowcase_key), kPrefix.size()) == kPrefix;
}

template <class F>
void each_header(ngx_http_request_t* r, F function) noexcept {
  for (ngx_list_part_t* part = &r->headers_in.headers.part; part != nullptr; part = part->next) {
    auto* elements = static_cast<ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) {
      function(elements[i]);
    }
  }
}

void look(ngx_http_request_t* r, Seen& seen) noexcept {
  each_header(r, [&seen](ngx_table_elt_t& header) {
    if (header.lowcase_key == nullptr) {
      return;
    }
    const std::string_view name(reinterpret_cast<const char*>(header.lowcase_key), header.key.len);
    for (const Wanted& wanted : kWanted) {
      if (wanted.name == name && (seen.*wanted.place).empty()) {
        seen.*wanted.place = view(header.value);
        break;
      }
    }
    seen.fairway = seen.fairway || is_ours(header);
  });
}

bool keep(ngx_http_request_t* r, Visit& visit, std::string_view name, std::string_view value) noexcept {
  if (visit.cookies.elts == nullptr && ngx_array_init(&visit.cookies, r->pool, 4, sizeof(OurCookie)) != NGX_OK) {
    return false;
  }
  void* place = ngx_array_push(&visit.cookies);
  if (place == nullptr) {
    return false;
  }
  new (place) OurCookie{name, value};
  return true;
}

// Takes our cookies out of one Cookie header; they stay with the visit. False when memory is short.
bool strip(ngx_http_request_t* r, Visit& visit, ngx_table_elt_t& header) noexcept {
  const std::string_view value = view(header.value);
  if (value.find("fairway_") == std::string_view::npos) {
    return true;
  }
  auto* stripped = static_cast<char*>(ngx_pnalloc(r->pool, value.size()));
  if (stripped == nullptr) {
    return false;
  }
  bool memory = true;
  const StrippedCookies result =
      fairway::strip_cookies(value, {stripped, value.size()},
                             [&](std::string_view name, std::string_view text) noexcept { memory = memory && keep(r, visit, name, text); });
  if (memory && result.removed) {
    header.value = str({stripped, result.size});
    if (result.size == 0) {
      header.key.len = 0;  // no real header has such a name
    }
  }
  return memory;
}

// … out of all of them. Sets `empty` when a header has nothing left and must go as a whole.
ngx_int_t strip_cookies(ngx_http_request_t* r, Visit& visit, bool& empty) noexcept {
  bool memory = true;
  filter_cookies(r, [&](ngx_table_elt_t& header) noexcept {
    memory = memory && strip(r, visit, header);
    const bool gone = memory && header.key.len == 0;
    empty = empty || gone;
    return !gone;
  });
  return memory ? NGX_OK : NGX_ERROR;
}

// nginx passes every element of the list on, so ours have to leave it. The list is built anew; the pointers that nginx keeps to
// single headers go on pointing at the old elements, which stay as they are.
ngx_int_t remove_ours(ngx_http_request_t* r) noexcept {
  const ngx_list_part_t old = r->headers_in.headers.part;
  ngx_uint_t count = 0;
  for (const ngx_list_part_t* part = &old; part != nullptr; part = part->next) {
    count += part->nelts;
  }
  if (ngx_list_init(&r->headers_in.headers, r->pool, count == 0 ? 1 : count, sizeof(ngx_table_elt_t)) != NGX_OK) {
    return NGX_ERROR;
  }
  for (const ngx_list_part_t* part = &old; part != nullptr; part = part->next) {
    const auto* elements = static_cast<const ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) {
      const bool empty_cookie = elements[i].key.len == 0;
      if (!empty_cookie && !is_ours(elements[i])) {
        *static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_in.headers)) = elements[i];
      }
    }
  }
  return NGX_OK;
}

// host[:port] of an Origin; empty for "null" and other forms.
std::string_view authority_of(std::string_view origin) noexcept {
  const std::size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view{} : origin.substr(scheme + 3);
}

std::pair<std::string_view, std::string_view> split_port(std::string_view authority) noexcept {
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos) {
    return {authority, {}};
  }
  return {authority.substr(0, colon), authority.substr(colon + 1)};
}

// Front proxies pass Host with or without the port, so a port counts only where both name one.
bool origin_is_host(const ngx_http_request_t* r, std::string_view origin) noexcept {
  if (r->headers_in.host == nullptr) {
    return false;
  }
  const auto [origin_host, origin_port] = split_port(authority_of(origin));
  const auto [host, port] = split_port(view(r->headers_in.host->value));
  if (origin_host.empty() || origin_host.size() != host.size() || (!origin_port.empty() && !port.empty() && origin_port != port)) {
    return false;
  }
  return ngx_strncasecmp(reinterpret_cast<u_char*>(const_cast<char*>(origin_host.data())),
                         reinterpret_cast<u_char*>(const_cast<char*>(host.data())), host.size()) == 0;
}

bool contains(std::string_view text, std::string_view part) noexcept {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return ngx_tolower(static_cast<u_char>(a)) == b; }) != text.end();
}

}  // namespace

Visit* find_visit(ngx_http_request_t* r) noexcept {
  r = r->main;
  if (void* visit = ngx_http_get_module_ctx(r, ngx_http_fairway_module)) {
    return static_cast<Visit*>(visit);
  }
  for (ngx_http_cleanup_t* cleanup = r->cleanup; cleanup != nullptr; cleanup = cleanup->next) {
    if (cleanup->handler == visit_cleanup) {
      ngx_http_set_ctx(r, cleanup->data, ngx_http_fairway_module);
      return static_cast<Visit*>(cleanup->data);
    }
  }
  return nullptr;
}

Visit* get_visit(ngx_http_request_t* r) noexcept {
  if (Visit* visit = find_visit(r)) {
    return visit;
  }
  r = r->main;
  ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, sizeof(Visit));
  if (cleanup == nullptr) {
    return nullptr;
  }
  cleanup->handler = visit_cleanup;
  auto* visit = new (cleanup->data) Visit;
  visit->r = r;
  ngx_http_set_ctx(r, visit, ngx_http_fairway_module);
  return visit;
}

ngx_int_t read_request(ngx_http_request_t* r, Visit& visit) noexcept {
  visit.read = true;
  look(r, visit.seen);
  bool empty = false;
  if (strip_cookies(r, visit, empty) != NGX_OK) {
    return NGX_ERROR;
  }
  return empty || visit.seen.fairway ? remove_ours(r) : NGX_OK;
}

std::string_view host_of(const ngx_http_request_t* r) noexcept {
  if (r->headers_in.server.len != 0) {
    return view(r->headers_in.server);
  }
  const auto* server = static_cast<const ngx_http_core_srv_conf_t*>(ngx_http_get_module_srv_conf(r, ngx_http_core_module));
  return view(server->server_name);
}

bool is_page_request(const Visit& visit) noexcept {
  const Seen& seen = visit.seen;
  return contains(seen.accept, "text/html") && (seen.fetch_mode.empty() || seen.fetch_mode == "navigate") && seen.x_requested_with.empty();
}

bool is_prefetch(const Visit& visit) noexcept {
  return contains(visit.seen.purpose, "prefetch") || contains(visit.seen.sec_purpose, "prefetch");
}

bool is_read(const ngx_http_request_t* r) noexcept {
  return (r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) != 0;
}

bool is_cross_site_write(const ngx_http_request_t* r, const Visit& visit) noexcept {
  return !is_read(r) && (visit.seen.fetch_site == "cross-site" || (!visit.seen.origin.empty() && !origin_is_host(r, visit.seen.origin)));
}

bool is_same_origin(const ngx_http_request_t* r, const Visit& visit) noexcept {
  if (!visit.seen.fetch_site.empty()) {
    return visit.seen.fetch_site == "same-origin" || visit.seen.fetch_site == "none";
  }
  return visit.seen.origin.empty() || origin_is_host(r, visit.seen.origin);
}

}  // namespace fairway::ngx
