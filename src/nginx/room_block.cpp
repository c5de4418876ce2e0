#include "nginx/room_block.h"

#include "nginx/field_directives.h"
#include "nginx/files.h"
#include "nginx/values.h"

namespace fairway::ngx {

namespace {

Result page_file(ngx_conf_t* cf, RoomConf& room, Values values) noexcept {
  room.page = load_template(cf, values[0]);
  return room.page == nullptr ? Result::reported : Result::ok;
}

Result bypass(ngx_conf_t* cf, RoomConf& room, Values values) noexcept {
  return parse_bypass(cf, room.bypass, values);
}

constexpr Directive kOnlyHere[] = {
    {"page", 1, 1, "a file", setter<page_file>},
    {"bypass", 1, kAnyNumber, "one or more values with variables", setter<bypass>},
};

char* check(ngx_conf_t* cf, const RoomConf& room, const SeenDirectives& seen) {
  if (!seen.test(0)) {  // capacity
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "waiting_room \"%V\": \"capacity\" is missing, it must be a whole number from 0 to 10000000",
                       &room.name);
    return conf_error;
  }
  if (const auto problem = operate::check_together(room)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "waiting_room \"%V\": %s", &room.name, problem->detail.c_str());
    return conf_error;
  }
  return conf_ok;
}

}  // namespace

char* derive(ngx_pool_t* pool, RoomConf& room) noexcept {
  room.ticket_cookie = joined(pool, "fairway_ticket_", view(room.name), "");
  room.pass_cookie = joined(pool, "fairway_pass_", view(room.name), "");
  room.path = joined(pool, "/__fairway/", view(room.name), "/");
  room.status_path = joined(pool, "/__fairway/", view(room.name), "/status");
  room.leave_path = joined(pool, "/__fairway/", view(room.name), "/leave");
  for (const ngx_str_t* text : {&room.ticket_cookie, &room.pass_cookie, &room.path, &room.status_path, &room.leave_path}) {
    if (text->data == nullptr) {
      return conf_error;
    }
  }
  return conf_ok;
}

char* parse_room_block(ngx_conf_t* cf, RoomConf& room) noexcept {
  try {
    const auto directives = directives_with<RoomConf, operate::room_fields, operate::kRoomFields>(kOnlyHere);
    SeenDirectives seen;
    char* result = parse_block(cf, {"waiting_room", room.name, directives}, &room, seen);
    if (result == conf_ok) {
      result = check(cf, room, seen);
    }
    return result == conf_ok ? derive(cf->pool, room) : result;
  } catch (...) {
    return conf_error;
  }
}

}  // namespace fairway::ngx
