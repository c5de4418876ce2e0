#include "nginx/one_address.h"

#include "core/siphash.h"
#include "nginx/queue_worker.h"

namespace fairway::ngx {

void watch_address(ngx_http_request_t* r, QueueClient& client) noexcept {
  const ngx_str_t& address = r->connection->addr_text;
  const std::uint64_t hash = siphash(client.hash_key(), address.data, address.len);
  if (client.shared().one_address.warn(hash, static_cast<std::int64_t>(ngx_current_msec / 1'000) + 1)) {
    ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                  "fairway: nearly all requests to fair_queue \"%V\" come from one address, %V: is \"set_real_ip_from\" missing?",
                  &client.conf().name, &address);
  }
}

}  // namespace fairway::ngx
