#include "nginx/one_address.h"

#include <algorithm>
#include <cstring>

#include "nginx/address.h"
#include "nginx/queue_worker.h"

namespace fairway::ngx {

namespace {

// Not keyed: whoever finds two addresses of one hash gains a warning in the log.
std::uint64_t hash_of(const ngx_str_t& text) noexcept {
  std::uint64_t hash = text.len;
  for (std::size_t at = 0; at < text.len; at += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data + at, std::min(sizeof word, text.len - at));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

void watch_address(ngx_http_request_t* r, QueueClient& client) noexcept {
  const ngx_str_t& address = r->connection->addr_text;
  if (client.shared().one_address.warn(hash_of(address), static_cast<std::int64_t>(ngx_current_msec / 1'000) + 1)) {
    // not to the connection's log, to whose lines nginx adds the request
    ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                  "fairway: nearly all requests to fair_queue \"%V\" come from one address in %s: is \"set_real_ip_from\" missing, or does "
                  "one client send nearly everything?",
                  &client.conf().name, network_text(r->connection->sockaddr).data());
  }
}

}  // namespace fairway::ngx
