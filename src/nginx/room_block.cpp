#include "nginx/room_block.h"

#include "nginx/block.h"
#include "nginx/files.h"
#include "nginx/values.h"

namespace fairway::ngx {

namespace {

constexpr std::uint32_t kMaxSessions = 10'000'000;

Result capacity(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  const auto count = parse_count(view(values[0]), 0, kMaxSessions);
  room.settings.capacity = count.value_or(0);
  return count ? Result::ok : Result::refused;
}

Result rate(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  if (view(values[0]) == "off") {
    return Result::ok;
  }
  const auto rate = parse_rate(view(values[0]));
  if (!rate) {
    return Result::refused;
  }
  room.settings.rate = rate->count;
  room.settings.rate_window = rate->window;
  return Result::ok;
}

// A duration of the settings; `low` in µs.
template <Micros room::Settings::*field, Micros low>
Result duration(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  const auto time = parse_duration(view(values[0]));
  if (!time || *time < low) {
    return Result::refused;
  }
  room.settings.*field = *time;
  return Result::ok;
}

Result session_max(ngx_conf_t* cf, RoomConf& room, Values values) noexcept {
  return view(values[0]) == "off" ? Result::ok : duration<&room::Settings::session_max, 1>(cf, room, values);
}

Result refresh(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  const auto time = parse_duration(view(values[0]));
  if (!time || *time % 1'000'000 != 0) {
    return Result::refused;
  }
  room.refresh = *time / 1'000'000;
  return Result::ok;
}

Result max_waiting(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  const auto count = parse_count(view(values[0]), 0, kMaxSessions);
  room.settings.max_waiting = count.value_or(0);
  return count ? Result::ok : Result::refused;
}

Result entries_per_ip(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  room.entries_set = true;
  if (view(values[0]) == "off") {
    room.entries_per_minute = 0;
    return Result::ok;
  }
  const auto rate = parse_rate(view(values[0]));
  if (!rate || rate->window != 60'000'000) {
    return Result::refused;
  }
  room.entries_per_minute = rate->count;
  return Result::ok;
}

Result polls_per_session(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  const auto rate = parse_rate(view(values[0]));
  if (!rate || rate->window != 1'000'000) {
    return Result::refused;
  }
  room.polls_per_second = rate->count;
  return Result::ok;
}

Result poll_interval(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  const auto low = parse_duration(view(values[0]));
  const auto high = parse_duration(view(values[1]));
  if (!low || !high || *low < 100'000 || *low > *high) {
    return Result::refused;
  }
  room.settings.poll_min = *low;
  room.settings.poll_max = *high;
  return Result::ok;
}

Result on_store_failure(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  room.fail_open = view(values[0]) == "open";
  return room.fail_open || view(values[0]) == "closed" ? Result::ok : Result::refused;
}

Result bind_network(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  room.bind_network = view(values[0]) == "on";
  return room.bind_network || view(values[0]) == "off" ? Result::ok : Result::refused;
}

Result page_file(ngx_conf_t* cf, RoomConf& room, Values values) noexcept {
  room.page = load_template(cf, values[0]);
  return room.page == nullptr ? Result::reported : Result::ok;
}

Result page_status(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  for (const std::uint32_t status : {200U, 202U, 429U, 503U}) {
    if (parse_count(view(values[0]), status, status)) {
      room.page_status = status;
      return Result::ok;
    }
  }
  return Result::refused;
}

Result message(ngx_conf_t* cf, RoomConf& room, Values values) noexcept {
  const ngx_str_t text = values[0];
  if (text.len > kMaxMessage) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"message\" has %uz bytes, the most is %uz", text.len, kMaxMessage);
    return Result::reported;
  }
  if (!is_plain_text(view(text))) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"message\" must be UTF-8 text without control characters");
    return Result::reported;
  }
  room.message = text;
  return Result::ok;
}

Result bypass(ngx_conf_t* cf, RoomConf& room, Values values) noexcept {
  return parse_bypass(cf, room.bypass, values);
}

Result cookie_domain(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  room.cookie_domain = values[0];
  return is_cookie_domain(view(values[0])) ? Result::ok : Result::refused;
}

Result cookie_secure(ngx_conf_t*, RoomConf& room, Values values) noexcept {
  const std::string_view word = view(values[0]);
  room.cookie_secure = word == "on" ? Secure::on : word == "off" ? Secure::off : Secure::automatic;
  return word == "on" || word == "off" || word == "auto" ? Result::ok : Result::refused;
}

constexpr Directive kDirectives[] = {
    {"capacity", 1, 1, "a whole number from 0 to 10000000", setter<capacity>},
    {"rate", 1, 1, "N/s or N/m with N from 1 to 1000000, or off", setter<rate>},
    {"session_timeout", 1, 1, kTime, setter<duration<&room::Settings::session_timeout, 1>>},
    {"session_max", 1, 1, "a time above 0 and at most 365d, such as 2h, or off", setter<session_max>},
    {"grant_timeout", 1, 1, kTime, setter<duration<&room::Settings::grant_timeout, 1>>},
    {"abandon_timeout", 1, 1, kTime, setter<duration<&room::Settings::abandon_timeout, 1>>},
    {"return_grace", 1, 1, "a time of at most 365d, such as 10m; 0 gives no number back",
     setter<duration<&room::Settings::return_grace, 0>>},
    {"refresh", 1, 1, "a time in whole seconds of at most half of session_timeout; 0 asks the store each time", setter<refresh>},
    {"max_waiting", 1, 1, "a whole number from 0 to 10000000", setter<max_waiting>},
    {"entries_per_ip", 1, 1, "N/m with N from 1 to 1000000, or off", setter<entries_per_ip>},
    {"polls_per_session", 1, 1, "N/s with N from 1 to 1000000", setter<polls_per_session>},
    {"poll_interval", 2, 2, "two times, MIN of at least 100ms and MAX of at least MIN, such as 3s 30s", setter<poll_interval>},
    {"on_store_failure", 1, 1, "closed or open", setter<on_store_failure>},
    {"bind_network", 1, 1, "on or off", setter<bind_network>},
    {"page", 1, 1, "a file", setter<page_file>},
    {"page_status", 1, 1, "200, 202, 429 or 503", setter<page_status>},
    {"message", 1, 1, "one text", setter<message>},
    {"bypass", 1, kAnyNumber, "one or more values with variables", setter<bypass>},
    {"cookie_domain", 1, 1, "a domain name such as example.com", setter<cookie_domain>},
    {"cookie_secure", 1, 1, "auto, on or off", setter<cookie_secure>},
};

// What no directive can see alone.
char* check_together(ngx_conf_t* cf, const RoomConf& room, const SeenDirectives& seen) noexcept {
  const room::Settings& settings = room.settings;
  if (!seen.test(0)) {  // capacity
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "waiting_room \"%V\": \"capacity\" is missing, it must be a whole number from 0 to 10000000",
                       &room.name);
    return conf_error;
  }
  if (room.refresh * 2'000'000 > settings.session_timeout) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "waiting_room \"%V\": \"refresh\" (%Lms) must be at most half of \"session_timeout\" (%Lms)",
                       &room.name, room.refresh * 1'000, settings.session_timeout / 1'000);
    return conf_error;
  }
  if (settings.session_max != 0 && settings.session_max < settings.session_timeout) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "waiting_room \"%V\": \"session_max\" (%Lms) must be at least \"session_timeout\" (%Lms), or off", &room.name,
                       settings.session_max / 1'000, settings.session_timeout / 1'000);
    return conf_error;
  }
  return conf_ok;
}

char* derive(ngx_conf_t* cf, RoomConf& room) noexcept {
  room.ticket_cookie = joined(cf->pool, "fairway_ticket_", view(room.name), "");
  room.pass_cookie = joined(cf->pool, "fairway_pass_", view(room.name), "");
  room.path = joined(cf->pool, "/__fairway/", view(room.name), "/");
  room.status_path = joined(cf->pool, "/__fairway/", view(room.name), "/status");
  room.leave_path = joined(cf->pool, "/__fairway/", view(room.name), "/leave");
  for (const ngx_str_t* text : {&room.ticket_cookie, &room.pass_cookie, &room.path, &room.status_path, &room.leave_path}) {
    if (text->data == nullptr) {
      return conf_error;
    }
  }
  return conf_ok;
}

}  // namespace

char* parse_room_block(ngx_conf_t* cf, RoomConf& room) noexcept {
  SeenDirectives seen;
  char* result = parse_block(cf, {"waiting_room", room.name, kDirectives}, &room, seen);
  if (result == conf_ok) {
    result = check_together(cf, room, seen);
  }
  return result == conf_ok ? derive(cf, room) : result;
}

}  // namespace fairway::ngx
