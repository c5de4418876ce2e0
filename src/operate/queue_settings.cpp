#include "operate/queue_settings.h"

#include <iterator>

#include "operate/values.h"

namespace fairway::operate {

namespace {

constexpr std::uint32_t kMaxConcurrency = 65'536;
constexpr std::uint32_t kMaxSize = 65'536;
constexpr const char* kTime = "a time above 0 and at most 365d, such as 30s, 10m or 1h";

bool set_concurrency(QueueSettings& queue, Values values) noexcept {
  const auto count = parse_count(values[0], 1, kMaxConcurrency);
  queue.limits.concurrency = count.value_or(0);
  return count.has_value();
}

std::string get_concurrency(const QueueSettings& queue) {
  return std::to_string(queue.limits.concurrency);
}

bool set_light_lane(QueueSettings& queue, Values values) noexcept {
  const auto count = values[0] == "off" ? 0 : parse_count(values[0], 1, kMaxConcurrency);
  queue.limits.light_lane = count.value_or(0);
  queue.lane_set = true;
  return count.has_value();
}

std::string get_light_lane(const QueueSettings& queue) {
  return queue.limits.light_lane == 0 ? "off" : std::to_string(queue.limits.light_lane);
}

bool set_order(QueueSettings& queue, Values values) noexcept {
  queue.limits.order = values[0] == "fifo" ? queue::Order::fifo : queue::Order::fair;
  return values[0] == "fifo" || values[0] == "fair";
}

std::string get_order(const QueueSettings& queue) {
  return queue.limits.order == queue::Order::fifo ? "fifo" : "fair";
}

bool set_size(QueueSettings& queue, Values values) noexcept {
  const auto count = parse_count(values[0], 0, kMaxSize);
  queue.limits.size = count.value_or(0);
  return count.has_value();
}

std::string get_size(const QueueSettings& queue) {
  return std::to_string(queue.limits.size);
}

template <queue::Nanos queue::Limits::*field, Micros low>
bool set_time(QueueSettings& queue, Values values) noexcept {
  const auto time = parse_duration(values[0]);
  if (!time || *time < low) {
    return false;
  }
  queue.limits.*field = *time * 1'000;
  return true;
}

template <queue::Nanos queue::Limits::*field>
std::string get_time(const QueueSettings& queue) {
  return duration_text(queue.limits.*field / 1'000);
}

bool set_outer_prefix(QueueSettings& queue, Values values) noexcept {
  const auto v4 = parse_count(values[0], 0, 32);
  const auto v6 = parse_count(values[1], 0, 128);
  queue.outer_v4 = v4.value_or(0);
  queue.outer_v6 = v6.value_or(0);
  return v4 && v6;
}

std::string get_outer_prefix(const QueueSettings& queue) {
  return std::to_string(queue.outer_v4) + " " + std::to_string(queue.outer_v6);
}

bool on_or_off(bool& flag, std::string_view word) noexcept {
  flag = word == "on";
  return flag || word == "off";
}

bool set_inner_address(QueueSettings& queue, Values values) noexcept {
  return on_or_off(queue.inner_address, values[0]);
}

std::string get_inner_address(const QueueSettings& queue) {
  return queue.inner_address ? "on" : "off";
}

bool set_probation(QueueSettings& queue, Values values) noexcept {
  return on_or_off(queue.limits.probation, values[0]);
}

std::string get_probation(const QueueSettings& queue) {
  return queue.limits.probation ? "on" : "off";
}

template <std::string_view QueueSettings::*field>
bool set_header(QueueSettings& queue, Values values) noexcept {
  queue.*field = values[0] == "off" ? std::string_view{} : values[0];
  return !values[0].empty() && values[0].size() <= 128 && values[0].find_first_of(" \t,;=:\"") == std::string_view::npos &&
         is_plain_text(values[0]);
}

template <std::string_view QueueSettings::*field>
std::string get_header(const QueueSettings& queue) {
  return (queue.*field).empty() ? "off" : std::string(queue.*field);
}

using L = queue::Limits;
using Q = QueueSettings;

constexpr Field<QueueSettings> kFields[] = {
    {"concurrency", Form::number, 1, 1, "a whole number from 1 to 65536", set_concurrency, get_concurrency},
    {"light_lane", Form::text, 1, 1, "a whole number below concurrency, or off", set_light_lane, get_light_lane},
    {"order", Form::text, 1, 1, "fair or fifo", set_order, get_order},
    {"size", Form::number, 1, 1, "a whole number from 0 to 65536", set_size, get_size},
    {"timeout", Form::text, 1, 1, kTime, set_time<&L::timeout, 1'000>, get_time<&L::timeout>},
    {"burst", Form::text, 1, 1, "a time of at most 365d, such as 20ms", set_time<&L::burst, 0>, get_time<&L::burst>},
    {"max_debt", Form::text, 1, 1, "a time of at most 365d, such as 5s", set_time<&L::max_debt, 0>, get_time<&L::max_debt>},
    {"debt_ttl", Form::text, 1, 1, kTime, set_time<&L::debt_ttl, 1'000>, get_time<&L::debt_ttl>},
    {"outer_prefix", Form::text, 2, 2, "two lengths of a prefix, 0 to 32 for IPv4 and 0 to 128 for IPv6, such as 24 56", set_outer_prefix,
     get_outer_prefix},
    {"inner_address", Form::text, 1, 1, "on or off", set_inner_address, get_inner_address},
    {"probation", Form::text, 1, 1, "on or off", set_probation, get_probation},
    {"cost_header", Form::text, 1, 1, "the name of a response header, or off", set_header<&Q::cost_header>, get_header<&Q::cost_header>},
    {"cpu_header", Form::text, 1, 1, "the name of a response header, or off", set_header<&Q::cpu_header>, get_header<&Q::cpu_header>},
};

static_assert(std::size(kFields) == kQueueFields);

}  // namespace

std::span<const Field<QueueSettings>> queue_fields() noexcept {
  return kFields;
}

std::optional<Problem> check_together(QueueSettings& queue) {
  const std::uint32_t concurrency = queue.limits.concurrency;
  if (!queue.lane_set) {
    queue.limits.light_lane = queue::default_lane(concurrency);
  }
  if (queue.limits.light_lane != 0 && queue.limits.light_lane >= concurrency) {
    return Problem{"light_lane", "\"light_lane\" must be a whole number below concurrency (" + std::to_string(concurrency) + "), or off"};
  }
  return std::nullopt;
}

std::optional<Problem> check_capacity(const QueueSettings& queue, const queue::Capacity& capacity) {
  if (queue.limits.concurrency > capacity.concurrency) {
    return Problem{"concurrency", "\"concurrency\" must be at most " + std::to_string(capacity.concurrency) +
                                      " while nginx runs; more takes nginx.conf and a restart"};
  }
  if (queue.limits.size > capacity.size) {
    return Problem{"size",
                   "\"size\" must be at most " + std::to_string(capacity.size) + " while nginx runs; more takes nginx.conf and a restart"};
  }
  return std::nullopt;
}

}  // namespace fairway::operate
