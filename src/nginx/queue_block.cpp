#include "nginx/queue_block.h"

#include "nginx/field_directives.h"
#include "nginx/values.h"

namespace fairway::ngx {

namespace {

constexpr std::uint32_t kMaxFlows = 1'048'576;
constexpr std::size_t kMaxNames = 16;  // cookies, headers

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

Result outer_flows(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  const auto count = operate::parse_count(view(values[0]), 1, kMaxFlows);
  queue.capacity.outer_flows = count.value_or(0);
  return count ? Result::ok : Result::refused;
}

Result inner_flows(ngx_conf_t*, QueueConf& queue, Values values) noexcept {
  const auto count = operate::parse_count(view(values[0]), 1, kMaxFlows);
  queue.capacity.inner_flows = count.value_or(0);
  return count ? Result::ok : Result::refused;
}

Result bypass(ngx_conf_t* cf, QueueConf& queue, Values values) noexcept {
  return parse_bypass(cf, queue.bypass, values);
}

constexpr Directive kOnlyHere[] = {
    {"inner_cookies", 1, kMaxNames, "1 to 16 names of cookies, or off", setter<inner_cookies>},
    {"inner_headers", 1, kMaxNames, "1 to 16 names of request headers, or off", setter<inner_headers>},
    {"outer_flows", 1, 1, "a whole number from 1 to 1048576", setter<outer_flows>},
    {"inner_flows", 1, 1, "a whole number from 1 to 1048576", setter<inner_flows>},
    {"bypass", 1, kAnyNumber, "one or more values with variables", setter<bypass>},
};

ngx_array_t* list_of(ngx_conf_t* cf, std::span<const std::string_view> defaults) noexcept {
  ngx_array_t* list = ngx_array_create(cf->pool, defaults.size(), sizeof(ngx_str_t));
  for (std::size_t i = 0; list != nullptr && i < defaults.size(); ++i) {
    *static_cast<ngx_str_t*>(ngx_array_push(list)) = str(defaults[i]);
  }
  return list;
}

char* fill_in(ngx_conf_t* cf, QueueConf& queue, const SeenDirectives& seen) {
  static constexpr std::string_view kCookies[] = {"sessionid", "session"};
  static constexpr std::string_view kHeaders[] = {"user-agent",         "accept-language",  "sec-ch-ua",
                                                  "sec-ch-ua-platform", "sec-ch-ua-mobile", "authorization"};
  if (!seen.test(0)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "fair_queue \"%V\": \"concurrency\" is missing, it must be a whole number from 1 to 65536",
                       &queue.name);
    return conf_error;
  }
  if (const auto problem = operate::check_together(queue)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "fair_queue \"%V\": %s", &queue.name, problem->detail.c_str());
    return conf_error;
  }
  if (!seen.test(operate::kQueueFields)) {
    queue.inner_cookies = list_of(cf, kCookies);
  }
  if (!seen.test(operate::kQueueFields + 1)) {
    queue.inner_headers = list_of(cf, kHeaders);
  }
  return queue.inner_cookies == nullptr || queue.inner_headers == nullptr ? conf_error : conf_ok;
}

}  // namespace

char* parse_queue_block(ngx_conf_t* cf, QueueConf& queue) noexcept {
  try {
    const auto directives = directives_with<QueueConf, operate::queue_fields, operate::kQueueFields>(kOnlyHere);
    SeenDirectives seen;
    char* result = parse_block(cf, {"fair_queue", queue.name, directives}, &queue, seen);
    return result == conf_ok ? fill_in(cf, queue, seen) : result;
  } catch (...) {
    return conf_error;
  }
}

}  // namespace fairway::ngx
