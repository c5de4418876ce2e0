#include "operate/room_settings.h"

#include <algorithm>
#include <iterator>

#include "operate/values.h"

namespace fairway::operate {

namespace {

constexpr std::uint32_t kMaxSessions = 10'000'000;
constexpr const char* kTime = "a time above 0 and at most 365d, such as 30s, 10m or 1h";
constexpr const char* kSessions = "a whole number from 0 to 10000000";

template <std::uint32_t room::Settings::*field>
bool set_count(RoomSettings& room, Values values) noexcept {
  const auto count = parse_count(values[0], 0, kMaxSessions);
  room.settings.*field = count.value_or(0);
  return count.has_value();
}

template <std::uint32_t room::Settings::*field>
std::string get_count(const RoomSettings& room) {
  return std::to_string(room.settings.*field);
}

bool set_rate(RoomSettings& room, Values values) noexcept {
  const auto rate = values[0] == "off" ? Rate{} : parse_rate(values[0]);
  if (rate) {
    room.settings.rate = rate->count;
    room.settings.rate_window = rate->window;
  }
  return rate.has_value();
}

std::string get_rate(const RoomSettings& room) {
  return room.settings.rate_window == 0 ? "off" : rate_text({room.settings.rate, room.settings.rate_window});
}

// A time of the settings; `low` in µs.
template <Micros room::Settings::*field, Micros low>
bool set_time(RoomSettings& room, Values values) noexcept {
  const auto time = parse_duration(values[0]);
  if (!time || *time < low) {
    return false;
  }
  room.settings.*field = *time;
  return true;
}

template <Micros room::Settings::*field>
std::string get_time(const RoomSettings& room) {
  return duration_text(room.settings.*field);
}

bool set_session_max(RoomSettings& room, Values values) noexcept {
  if (values[0] == "off") {
    room.settings.session_max = 0;
    return true;
  }
  return set_time<&room::Settings::session_max, 1>(room, values);
}

std::string get_session_max(const RoomSettings& room) {
  return room.settings.session_max == 0 ? "off" : duration_text(room.settings.session_max);
}

bool set_refresh(RoomSettings& room, Values values) noexcept {
  const auto time = parse_duration(values[0]);
  if (!time || *time % 1'000'000 != 0) {
    return false;
  }
  room.refresh = *time / 1'000'000;
  return true;
}

std::string get_refresh(const RoomSettings& room) {
  return duration_text(room.refresh * 1'000'000);
}

bool set_entries(RoomSettings& room, Values values) noexcept {
  const auto rate = values[0] == "off" ? Rate{0, 60'000'000} : parse_rate(values[0]);
  if (!rate || rate->window != 60'000'000) {
    return false;
  }
  room.entries_set = true;
  room.entries_per_minute = rate->count;
  return true;
}

std::string get_entries(const RoomSettings& room) {
  return room.entries_per_minute == 0 ? "off" : rate_text({room.entries_per_minute, 60'000'000});
}

bool set_polls(RoomSettings& room, Values values) noexcept {
  const auto rate = parse_rate(values[0]);
  if (!rate || rate->window != 1'000'000) {
    return false;
  }
  room.polls_per_second = rate->count;
  return true;
}

std::string get_polls(const RoomSettings& room) {
  return rate_text({room.polls_per_second, 1'000'000});
}

bool set_poll_interval(RoomSettings& room, Values values) noexcept {
  const auto low = parse_duration(values[0]);
  const auto high = parse_duration(values[1]);
  if (!low || !high || *low < 100'000 || *low > *high) {
    return false;
  }
  room.settings.poll_min = *low;
  room.settings.poll_max = *high;
  return true;
}

std::string get_poll_interval(const RoomSettings& room) {
  return duration_text(room.settings.poll_min) + " " + duration_text(room.settings.poll_max);
}

// One of two words; the first means true.
bool set_word(bool& flag, std::string_view word, std::string_view yes, std::string_view no) noexcept {
  flag = word == yes;
  return flag || word == no;
}

bool set_store_failure(RoomSettings& room, Values values) noexcept {
  return set_word(room.fail_open, values[0], "open", "closed");
}

std::string get_store_failure(const RoomSettings& room) {
  return room.fail_open ? "open" : "closed";
}

bool set_bind_network(RoomSettings& room, Values values) noexcept {
  return set_word(room.bind_network, values[0], "on", "off");
}

std::string get_bind_network(const RoomSettings& room) {
  return room.bind_network ? "on" : "off";
}

bool set_page_status(RoomSettings& room, Values values) noexcept {
  for (const std::uint32_t status : {200U, 202U, 429U, 503U}) {
    if (parse_count(values[0], status, status)) {
      room.page_status = status;
      return true;
    }
  }
  return false;
}

std::string get_page_status(const RoomSettings& room) {
  return std::to_string(room.page_status);
}

bool set_message(RoomSettings& room, Values values) noexcept {
  room.message = values[0];
  return values[0].size() <= kMaxMessage && is_plain_text(values[0]);
}

std::string get_message(const RoomSettings& room) {
  return std::string(room.message);
}

bool set_cookie_domain(RoomSettings& room, Values values) noexcept {
  room.cookie_domain = values[0];
  return is_cookie_domain(values[0]);
}

std::string get_cookie_domain(const RoomSettings& room) {
  return std::string(room.cookie_domain);
}

bool set_cookie_secure(RoomSettings& room, Values values) noexcept {
  const std::string_view word = values[0];
  room.cookie_secure = word == "on" ? Secure::on : word == "off" ? Secure::off : Secure::automatic;
  return word == "on" || word == "off" || word == "auto";
}

std::string get_cookie_secure(const RoomSettings& room) {
  return room.cookie_secure == Secure::on ? "on" : room.cookie_secure == Secure::off ? "off" : "auto";
}

using S = room::Settings;

constexpr Field<RoomSettings> kFields[] = {
    {"capacity", Form::number, 1, 1, kSessions, set_count<&S::capacity>, get_count<&S::capacity>},
    {"rate", Form::text, 1, 1, "N/s or N/m with N from 1 to 1000000, or off", set_rate, get_rate},
    {"session_timeout", Form::text, 1, 1, kTime, set_time<&S::session_timeout, 1>, get_time<&S::session_timeout>},
    {"session_max", Form::text, 1, 1, "a time above 0 and at most 365d, such as 2h, or off", set_session_max, get_session_max},
    {"grant_timeout", Form::text, 1, 1, kTime, set_time<&S::grant_timeout, 1>, get_time<&S::grant_timeout>},
    {"abandon_timeout", Form::text, 1, 1, kTime, set_time<&S::abandon_timeout, 1>, get_time<&S::abandon_timeout>},
    {"return_grace", Form::text, 1, 1, "a time of at most 365d, such as 10m; 0 gives no number back", set_time<&S::return_grace, 0>,
     get_time<&S::return_grace>},
    {"refresh", Form::text, 1, 1, "a time in whole seconds of at most half of session_timeout; 0 asks the store each time", set_refresh,
     get_refresh},
    {"max_waiting", Form::number, 1, 1, kSessions, set_count<&S::max_waiting>, get_count<&S::max_waiting>},
    {"entries_per_ip", Form::text, 1, 1, "N/m with N from 1 to 1000000, or off", set_entries, get_entries},
    {"polls_per_session", Form::text, 1, 1, "N/s with N from 1 to 1000000", set_polls, get_polls},
    {"poll_interval", Form::text, 2, 2, "two times, MIN of at least 100ms and MAX of at least MIN, such as 3s 30s", set_poll_interval,
     get_poll_interval},
    {"on_store_failure", Form::text, 1, 1, "closed or open", set_store_failure, get_store_failure},
    {"bind_network", Form::text, 1, 1, "on or off", set_bind_network, get_bind_network},
    {"page_status", Form::number, 1, 1, "200, 202, 429 or 503", set_page_status, get_page_status},
    {"message", Form::note, 1, 1, "one text of at most 1000 bytes, UTF-8 without control characters", set_message, get_message},
    {"cookie_domain", Form::text, 1, 1, "a domain name such as example.com", set_cookie_domain, get_cookie_domain},
    {"cookie_secure", Form::text, 1, 1, "auto, on or off", set_cookie_secure, get_cookie_secure},
};

static_assert(std::size(kFields) == kRoomFields);

constexpr std::string_view kModes[] = {"normal", "hold", "open", "closed"};

}  // namespace

std::span<const Field<RoomSettings>> room_fields() noexcept {
  return kFields;
}

std::optional<Problem> check_together(const RoomSettings& room) {
  const room::Settings& settings = room.settings;
  const std::string timeout = duration_text(settings.session_timeout);
  if (room.refresh * 2'000'000 > settings.session_timeout) {
    return Problem{"refresh", "\"refresh\" (" + get_refresh(room) + ") must be at most half of \"session_timeout\" (" + timeout + ")"};
  }
  if (settings.session_max != 0 && settings.session_max < settings.session_timeout) {
    return Problem{"session_max",
                   "\"session_max\" (" + get_session_max(room) + ") must be at least \"session_timeout\" (" + timeout + "), or off"};
  }
  return std::nullopt;
}

std::string_view mode_name(room::Mode mode) noexcept {
  return kModes[static_cast<std::size_t>(mode)];
}

std::optional<room::Mode> parse_mode(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kModes, name);
  if (found == std::end(kModes)) {
    return std::nullopt;
  }
  return static_cast<room::Mode>(found - std::begin(kModes));
}

}  // namespace fairway::operate
