#include "cli/access_log.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace fairway::cli {
namespace {

using sim::EndedRequest;
using sim::Nanos;

constexpr SipKey kKey{0x6c6f67, 0x6b6579};       // tells the sessions of one log apart; nobody aims at it
constexpr std::size_t kNamed = 5;                // unreadable lines that are named
constexpr double kLongest = 86'400;              // s; a request of more than a day is a mistake
constexpr std::int64_t kLatest = 9'000'000'000;  // s, in 2255: ns since 1970 still fit

std::optional<unsigned> number(std::string_view text, std::size_t digits) {
  unsigned value = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  return value;
}

// "+0200" or "+02:00", in seconds; Z is 0.
std::optional<std::int64_t> zone(std::string_view text) {
  if (text == "Z") return 0;
  if (text.size() < 5 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const auto hours = number(text.substr(1), 2);
  const auto minutes = number(text.substr(text.size() - 2), 2);
  if (!hours || !minutes) return std::nullopt;
  const std::int64_t offset = *hours * 3600 + *minutes * 60;
  return text[0] == '-' ? -offset : offset;
}

std::optional<std::int64_t> unix_time(std::chrono::year_month_day day, std::string_view clock, std::string_view offset) {
  if (clock.size() < 8 || clock[2] != ':' || clock[5] != ':') return std::nullopt;
  const auto h = number(clock, 2);
  const auto m = number(clock.substr(3), 2);
  const auto s = number(clock.substr(6), 2);
  const auto ahead = zone(offset);
  if (!day.ok() || !h || !m || !s || !ahead) return std::nullopt;
  const std::int64_t second = std::chrono::sys_days(day).time_since_epoch().count() * 86'400LL + *h * 3600 + *m * 60 + *s - *ahead;
  return second >= 0 && second <= kLatest ? std::optional(second) : std::nullopt;
}

std::chrono::year_month_day date(unsigned year, unsigned month, unsigned day) {
  return std::chrono::year(static_cast<int>(year)) / std::chrono::month(month) / std::chrono::day(day);
}

// 30/Nov/2026:21:00:24 +0000
std::optional<std::int64_t> local_time(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() < 26 || text[2] != '/' || text[6] != '/' || text[11] != ':' || text[20] != ' ') return std::nullopt;
  const auto day = number(text, 2);
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(3, 3));
  const auto year = number(text.substr(7), 4);
  if (!day || !year || month == kMonths.end()) return std::nullopt;
  return unix_time(date(*year, static_cast<unsigned>(month - kMonths.begin()) + 1, *day), text.substr(12, 8), text.substr(21));
}

// 2026-11-30T21:00:24+00:00
std::optional<std::int64_t> iso_time(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T') return std::nullopt;
  const auto year = number(text, 4);
  const auto month = number(text.substr(5), 2);
  const auto day = number(text.substr(8), 2);
  if (!year || !month || !day) return std::nullopt;
  return unix_time(date(*year, *month, *day), text.substr(11, 8), text.substr(19));
}

std::optional<double> seconds(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool fits = error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= kLongest;
  return fits ? std::optional(value) : std::nullopt;
}

struct Time {
  bool readable = false;
  std::optional<double> seconds;  // none: "-"
};

// The last time in `text`: one number, or those of several upstreams ("0.100, 0.250", "0.1 : 0.2"), which are added up; a name may
// stand before it ("rt=0.120").
Time last_time(std::string_view text) {
  Time time;
  while (true) {
    text = text.substr(0, text.find_last_not_of(" \r") + 1);
    const std::size_t begin = text.find_last_of(" =") + 1;
    const std::string_view word = text.substr(begin);
    const auto part = word == "-" ? std::optional(0.0) : seconds(word);
    if (!part) return {};
    time.readable = true;
    if (word != "-") time.seconds = time.seconds.value_or(0) + *part;
    text = text.substr(0, text.substr(0, begin).find_last_not_of(' ') + 1);
    if (!text.ends_with(',') && !text.ends_with(" :")) return time;
    text.remove_suffix(1);
  }
}

Nanos nanos(double seconds) {
  return std::llround(seconds * static_cast<double>(queue::kSecond));
}

ClientAddress address_of(std::string_view text) {
  const std::string copy(text);
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, copy.c_str(), bytes.data()) == 1) return ClientAddress::v4(std::span(bytes).first<4>());
  if (inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return ClientAddress::v6(bytes);
  return text.starts_with("unix:") ? ClientAddress::unix_socket() : ClientAddress::unknown();
}

// What follows up to `end`, which is left out too; none when there is no such.
std::optional<std::string_view> cut(std::string_view& line, std::string_view end) {
  const std::size_t at = line.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = line.substr(0, at);
  line.remove_prefix(at + end.size());
  return before;
}

}  // namespace

// As the module does it, with what a log knows of a request: of headers the user agent, of cookies nothing.
sim::ClientKey AccessLog::client(std::string_view address, std::string_view agent) const {
  const ClientAddress from = address_of(address);
  const OuterKey network = outer_key(from, settings_.outer_v4, settings_.outer_v6);
  InnerKey key(network);
  if (settings_.inner_address) key.address(from);
  agent == "-" || agent.empty() ? key.absent() : key.add(agent);
  return {network, key.digest(kKey)};
}

LineKind AccessLog::parse(std::string_view line, EndedRequest& ended) const {
  return line.starts_with('{') ? parse_json(line, ended) : parse_combined(line, ended);
}

// ADDRESS - USER [TIME] "REQUEST" STATUS BYTES "REFERER" "AGENT" ... SECONDS. nginx writes a quote in a value as \x22.
LineKind AccessLog::parse_combined(std::string_view line, EndedRequest& ended) const {
  const auto address = cut(line, " ");
  const auto user = cut(line, "[");
  const auto when = cut(line, "] \"");
  const auto request = cut(line, "\" ");
  const auto status = cut(line, " ");
  const auto bytes = cut(line, " \"");
  const auto referer = cut(line, "\" \"");
  const auto agent = cut(line, "\"");
  if (!address || !user || !when || !request || !status || !bytes || !referer || !agent) return LineKind::unreadable;
  const auto second = local_time(*when);
  const Time time = last_time(line.substr(line.rfind('"') + 1));
  if (!second || status->size() != 3 || !number(*status, 3) || !time.readable) return LineKind::unreadable;
  if (!time.seconds || status == "101") return LineKind::without_upstream;
  ended = {*second, nanos(*time.seconds), {0, nanos(*time.seconds), client(*address, *agent)}};
  return LineKind::request;
}

LineKind AccessLog::parse_json(std::string_view line, EndedRequest& ended) const {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return LineKind::unreadable;
  const auto text = [&json](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? std::string_view(found->get_ref<const std::string&>()) : std::string_view();
  };
  const auto took = json.find("request_time");
  const auto second = iso_time(text("time"));
  const bool known = took != json.end() && took->is_number() && json.contains("upstream_time") && json.contains("remote_addr");
  if (!second || !known || took->get<double>() < 0 || took->get<double>() > kLongest) return LineKind::unreadable;
  const std::string_view upstream = text("upstream_time");
  const Time time = upstream.empty() ? Time{true, std::nullopt} : last_time(upstream);
  if (!time.readable) return LineKind::unreadable;
  if (!time.seconds || json.value("status", nlohmann::json()) == 101) return LineKind::without_upstream;
  ended = {*second, nanos(took->get<double>()), {0, nanos(*time.seconds), client(text("remote_addr"), text("user_agent"))}};
  std::uint64_t session = 0;
  const std::string_view inner = text("fair_queue_inner");
  const auto [end, error] = std::from_chars(inner.data(), inner.data() + inner.size(), session, 16);
  if (inner.size() == 16 && error == std::errc() && end == inner.data() + inner.size()) ended.request.client.session = session;
  return LineKind::request;
}

LineKind AccessLog::take(std::string_view line, EndedRequest& ended, LogCounts& counts) const {
  const LineKind kind = parse(line, ended);
  ++counts.lines;
  if (kind == LineKind::without_upstream) ++counts.without_upstream;
  if (kind == LineKind::unreadable && counts.unreadable++ < kNamed) counts.first_unreadable.push_back(counts.lines);
  return kind;
}

}  // namespace fairway::cli
