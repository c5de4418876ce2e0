// $waiting_room_* and $fair_queue_*: for log_format and headers. "-" where no room or queue was asked.
#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <span>

#include "nginx/queue_dry_run.h"
#include "nginx/turn.h"
#include "nginx/visit.h"

namespace fairway::ngx {

namespace {

ngx_int_t set_text(ngx_http_request_t* r, ngx_http_variable_value_t* value, std::string_view text) noexcept {
  const ngx_str_t stored = copy(r->pool, text);
  if (stored.data == nullptr) {
    return NGX_ERROR;
  }
  value->data = stored.data;
  value->len = static_cast<unsigned>(stored.len & 0x0fffffff);
  value->valid = 1;
  value->no_cacheable = 1;  // the visit may still be under way when it is first read
  value->not_found = 0;
  return NGX_OK;
}

ngx_int_t state(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t) noexcept {
  const Visit* visit = find_visit(r);
  return set_text(r, value, kOutcomeNames[visit == nullptr ? 0 : static_cast<std::size_t>(visit->outcome)]);
}

ngx_int_t name(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t) noexcept {
  const Visit* visit = find_visit(r);
  return set_text(r, value, visit == nullptr || visit->room == nullptr ? "-" : view(visit->room->name));
}

ngx_int_t rank(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t) noexcept {
  const Visit* visit = find_visit(r);
  if (visit == nullptr || visit->rank == 0) {
    return set_text(r, value, "-");
  }
  char text[NGX_INT64_LEN];
  return set_text(r, value, {text, static_cast<std::size_t>(std::to_chars(text, text + sizeof(text), visit->rank).ptr - text)});
}

ngx_int_t session(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t) noexcept {
  const Visit* visit = find_visit(r);
  if (visit == nullptr || !visit->named) {
    return set_text(r, value, "-");
  }
  char hex[32];
  visit->session.sid.to_hex(hex);
  return set_text(r, value, {hex, sizeof(hex)});
}

// In the order of queue::Status.
constexpr std::string_view kQueueStatus[] = {"direct", "queued", "full", "evicted", "timeout", "cancelled", "bypassed"};

// The turn whose results count, or nullptr.
const Turn* known_turn(ngx_http_request_t* r) noexcept {
  Turn* turn = find_turn(r);
  if (turn == nullptr || !turn->has_status) {
    return nullptr;
  }
  look_at_rehearsal(*turn);
  return turn;
}

ngx_int_t queue_status(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t) noexcept {
  const Turn* turn = known_turn(r);
  return set_text(r, value, turn == nullptr ? "-" : kQueueStatus[static_cast<std::size_t>(turn->status)]);
}

// A time of the turn, as whole ns or as seconds with ms.
template <queue::Nanos Turn::*field, bool in_seconds>
ngx_int_t queue_time(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t) noexcept {
  const Turn* turn = known_turn(r);
  if (turn == nullptr || turn->status == queue::Status::bypassed) {
    return set_text(r, value, "-");
  }
  const queue::Nanos time = turn->*field;
  char text[32];
  const int size = in_seconds ? std::snprintf(text, sizeof(text), "%" PRId64 ".%03" PRId64, time / queue::kSecond,
                                              time % queue::kSecond / queue::kMillisecond)
                              : std::snprintf(text, sizeof(text), "%" PRId64, time);
  return set_text(r, value, {text, static_cast<std::size_t>(size)});
}

ngx_int_t queue_outer(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t) noexcept {
  const Turn* turn = known_turn(r);
  if (turn == nullptr || turn->status == queue::Status::bypassed) {
    return set_text(r, value, "-");
  }
  char text[kMaxOuterKeyText];
  return set_text(r, value, {text, print(turn->arrival.keys.outer, text)});
}

ngx_int_t queue_inner(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t) noexcept {
  const Turn* turn = known_turn(r);
  if (turn == nullptr || turn->status == queue::Status::bypassed) {
    return set_text(r, value, "-");
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, turn->arrival.keys.inner);
  return set_text(r, value, {text, 16});
}

// A Host, with or without a port, that is this machine's own name for itself.
bool is_own_name(std::string_view host) noexcept {
  static constexpr std::string_view kNames[] = {"localhost", "127.0.0.1", "[::1]"};
  return std::ranges::any_of(kNames, [host](std::string_view name) {
    if (host.size() < name.size() || ngx_strncasecmp(str(host).data, str(name).data, name.size()) != 0) {
      return false;
    }
    const std::string_view port = host.substr(name.size());
    return port.empty() || (port.front() == ':' && port.find_first_not_of("0123456789", 1) == std::string_view::npos);
  });
}

// Headers by which proxies tell of the client.
bool is_proxys(std::string_view name) noexcept {
  static constexpr std::string_view kNames[] = {"forwarded", "x-real-ip",      "x-client-ip",      "x-cluster-client-ip",
                                                "client-ip", "true-client-ip", "cf-connecting-ip", "fastly-client-ip"};
  return name.starts_with("x-forwarded-") || std::ranges::find(kNames, name) != std::end(kNames);
}

// 1 when the Host is a name of this machine and no proxy has left its mark; what comes through a tunnel or a rebound name has neither.
ngx_int_t direct(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t) noexcept {
  // nginx in front, left at its defaults, sets Host to the address it connects to, sends no other header, and speaks HTTP/1.0
  bool good = r->headers_in.host != nullptr && is_own_name(view(r->headers_in.server)) && r->http_version >= NGX_HTTP_VERSION_11;
  for (const ngx_list_part_t* part = &r->headers_in.headers.part; part != nullptr; part = part->next) {
    for (const ngx_table_elt_t& header : std::span(static_cast<const ngx_table_elt_t*>(part->elts), part->nelts)) {
      const std::string_view name(reinterpret_cast<const char*>(header.lowcase_key), header.lowcase_key == nullptr ? 0 : header.key.len);
      if (name == "host") {
        good = good && is_own_name(view(header.value));
      }
      good = good && !is_proxys(name);
    }
  }
  return set_text(r, value, good ? "1" : "0");
}

struct Definition {
  std::string_view name;
  ngx_http_get_variable_pt get;
};

constexpr Definition kVariables[] = {
    {"waiting_room_state", state},
    {"waiting_room_name", name},
    {"waiting_room_rank", rank},
    {"waiting_room_session", session},
    {"fairway_direct", direct},
    {"fair_queue_status", queue_status},
    {"fair_queue_wait", queue_time<&Turn::waited, true>},
    {"fair_queue_cost_ns", queue_time<&Turn::cost, false>},
    {"fair_queue_cpu_ns", queue_time<&Turn::cpu, false>},
    {"fair_queue_debt", queue_time<&Turn::debt, true>},
    {"fair_queue_outer", queue_outer},
    {"fair_queue_inner", queue_inner},
};

}  // namespace

ngx_int_t add_variables(ngx_conf_t* cf) noexcept {
  for (const Definition& definition : kVariables) {
    ngx_str_t variable_name = str(definition.name);
    ngx_http_variable_t* variable = ngx_http_add_variable(cf, &variable_name, NGX_HTTP_VAR_NOCACHEABLE);
    if (variable == nullptr) {
      return NGX_ERROR;
    }
    variable->get_handler = definition.get;
  }
  return NGX_OK;
}

}  // namespace fairway::ngx
