// $waiting_room_*: for log_format and headers. "-" or empty where no room was asked.
#include <charconv>

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
  if (visit == nullptr || !visit->has_sid) {
    return set_text(r, value, "-");
  }
  char hex[32];
  visit->sid.to_hex(hex);
  return set_text(r, value, {hex, sizeof(hex)});
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
