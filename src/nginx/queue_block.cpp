#include "nginx/queue_block.h"

#include "nginx/block.h"
#include "nginx/values.h"

namespace fairway::ngx {

namespace {

constexpr std::uint32_t kMaxConcurrency = 65'536;
constexpr std::uint32_t kMaxSize = 65'536;
constexpr std::uint32_t kMaxFlows = 1'048'576;
constexpr std::size_t kMaxNames = 16;  // cookies, headers

Result concurrency(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  const auto count = parse_count(view(values[0]), 1, kMaxConcurrency);
  queue.limits.concurrency = count.value_or(0);
  return count ? Result::ok : Result::refused;
}

Result order(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  queue.limits.order = view(values[0]) == "fifo" ? queue::Order::fifo : queue::Order::fair;
  return view(values[0]) == "fifo" || view(values[0]) == "fair" ? Result::ok : Result::refused;
}

Result size(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  const auto count = parse_count(view(values[0]), 0, kMaxSize);
  queue.limits.size = count.value_or(0);
  return count ? Result::ok : Result::refused;
}

template <queue::Nanos queue::Limits::*field, Micros low>
Result duration(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  const auto time = parse_duration(view(values[0]));
  if (!time || *time < low) {
    return Result::refused;
  }
  queue.limits.*field = *time * 1'000;
  return Result::ok;
}

Result outer_prefix(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  const auto v4 = parse_count(view(values[0]), 0, 32);
  const auto v6 = parse_count(view(values[1]), 0, 128);
  queue.outer_v4 = v4.value_or(0);
  queue.outer_v6 = v6.value_or(0);
  return v4 && v6 ? Result::ok : Result::refused;
}

// Names of cookies or headers; "off" alone: none.
Result names(ngx_conf_t* cf, ngx_array_t*& list, Values values, bool lower) noexcept {
  list = ngx_array_create(cf->pool, values.size(), sizeof(ngx_str_t));
  if (list == nullptr) {
    return Result::reported;
  }
  if (values.size() == 1 && view(values[0]) == "off") {
    return Result::ok;
  }
  for (ngx_str_t& name : values) {
    const bool plain = name.len != 0 && view(name).find_first_of(" \t,;=:\"") == std::string_view::npos;
    if (!plain) {
      return Result::refused;
    }
    if (lower) {
      ngx_strlow(name.data, name.data, name.len);
    }
    *static_cast<ngx_str_t*>(ngx_array_push(list)) = name;
  }
  return Result::ok;
}

Result inner_cookies(ngx_conf_t* cf, QueueConf& queue, Values values) noexcept {
  return names(cf, queue.inner_cookies, values, false);
}

Result inner_headers(ngx_conf_t* cf, QueueConf& queue, Values values) noexcept {
  return names(cf, queue.inner_headers, values, true);
}

Result inner_address(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  queue.inner_address = view(values[0]) == "on";
  return queue.inner_address || view(values[0]) == "off" ? Result::ok : Result::refused;
}

Result outer_flows(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  const auto count = parse_count(view(values[0]), 1, kMaxFlows);
  queue.capacity.outer_flows = count.value_or(0);
  return count ? Result::ok : Result::refused;
}

Result inner_flows(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  const auto count = parse_count(view(values[0]), 1, kMaxFlows);
  queue.capacity.inner_flows = count.value_or(0);
  return count ? Result::ok : Result::refused;
}

Result probation(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  queue.limits.probation = view(values[0]) == "on";
  return queue.limits.probation || view(values[0]) == "off" ? Result::ok : Result::refused;
}

Result light_lane(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  const auto count = view(values[0]) == "off" ? 0 : parse_count(view(values[0]), 1, kMaxConcurrency);
  queue.limits.light_lane = count.value_or(0);
  return count ? Result::ok : Result::refused;
}

Result header_name(ngx_str_t& name, Values values) noexcept {
  if (view(values[0]) == "off") {
    name = {};
    return Result::ok;
  }
  name = values[0];
  return view(name).find_first_of(" \t,;=:\"") == std::string_view::npos && name.len != 0 ? Result::ok : Result::refused;
}

Result cost_header(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  return header_name(queue.cost_header, values);
}

Result cpu_header(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  return header_name(queue.cpu_header, values);
}

Result bypass(ngx_conf_t* cf, QueueConf& queue, Values values) noexcept {
  return parse_bypass(cf, queue.bypass, values);
}

enum Position : std::size_t { kConcurrency, kLightLane, kInnerCookies, kInnerHeaders };  // of the first directives of the table

constexpr Directive kDirectives[] = {
    {"concurrency", 1, 1, "a whole number from 1 to 65536", setter<concurrency>},
    {"light_lane", 1, 1, "a whole number below concurrency, or off", setter<light_lane>},
    {"inner_cookies", 1, kMaxNames, "1 to 16 names of cookies, or off", setter<inner_cookies>},
    {"inner_headers", 1, kMaxNames, "1 to 16 names of request headers, or off", setter<inner_headers>},
    {"order", 1, 1, "fair or fifo", setter<order>},
    {"size", 1, 1, "a whole number from 0 to 65536", setter<size>},
    {"timeout", 1, 1, kTime, setter<duration<&queue::Limits::timeout, 1'000>>},
    {"burst", 1, 1, "a time of at most 365d, such as 20ms", setter<duration<&queue::Limits::burst, 0>>},
    {"max_debt", 1, 1, "a time of at most 365d, such as 5s", setter<duration<&queue::Limits::max_debt, 0>>},
    {"debt_ttl", 1, 1, kTime, setter<duration<&queue::Limits::debt_ttl, 1'000>>},
    {"outer_prefix", 2, 2, "two lengths of a prefix, 0 to 32 for IPv4 and 0 to 128 for IPv6, such as 24 56", setter<outer_prefix>},
    {"inner_address", 1, 1, "on or off", setter<inner_address>},
    {"outer_flows", 1, 1, "a whole number from 1 to 1048576", setter<outer_flows>},
    {"inner_flows", 1, 1, "a whole number from 1 to 1048576", setter<inner_flows>},
    {"probation", 1, 1, "on or off", setter<probation>},
    {"cost_header", 1, 1, "the name of a response header, or off", setter<cost_header>},
    {"cpu_header", 1, 1, "the name of a response header, or off", setter<cpu_header>},
    {"bypass", 1, kAnyNumber, "one or more values with variables", setter<bypass>},
};

ngx_array_t* list_of(ngx_conf_t* cf, std::span<const std::string_view> defaults) noexcept {
  ngx_array_t* list = ngx_array_create(cf->pool, defaults.size(), sizeof(ngx_str_t));
  for (std::size_t i = 0; list != nullptr && i < defaults.size(); ++i) {
    *static_cast<ngx_str_t*>(ngx_array_push(list)) = str(defaults[i]);
  }
  return list;
}

char* fill_in(ngx_conf_t* cf, QueueConf& queue, const SeenDirectives& seen) noexcept {
  static constexpr std::string_view kCookies[] = {"sessionid", "session"};
  static constexpr std::string_view kHeaders[] = {"user-agent",         "accept-language",  "sec-ch-ua",
                                                  "sec-ch-ua-platform", "sec-ch-ua-mobile", "authorization"};
  if (!seen.test(kConcurrency)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "fair_queue \"%V\": \"concurrency\" is missing, it must be a whole number from 1 to 65536",
                       &queue.name);
    return conf_error;
  }
  if (!seen.test(kLightLane)) {
    queue.limits.light_lane = queue::default_lane(queue.limits.concurrency);
  } else if (queue.limits.light_lane >= queue.limits.concurrency) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "fair_queue \"%V\": \"light_lane\" must be a whole number below concurrency (%uD), or off",
                       &queue.name, queue.limits.concurrency);
    return conf_error;
  }
  if (!seen.test(kInnerCookies)) {
    queue.inner_cookies = list_of(cf, kCookies);
  }
  if (!seen.test(kInnerHeaders)) {
    queue.inner_headers = list_of(cf, kHeaders);
  }
  return queue.inner_cookies == nullptr || queue.inner_headers == nullptr ? conf_error : conf_ok;
}

}  // namespace

char* parse_queue_block(ngx_conf_t* cf, QueueConf& queue) noexcept {
  SeenDirectives seen;
  char* result = parse_block(cf, {"fair_queue", queue.name, kDirectives}, &queue, seen);
  return result == conf_ok ? fill_in(cf, queue, seen) : result;
}

}  // namespace fairway::ngx
