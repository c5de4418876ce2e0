// Notices that nearly all requests come from one address, as they do behind a proxy whose word on the client (real_ip) is not taken:
// then all clients are one flow, and no order is fair. In shared memory, so that all workers count together.
#pragma once

#include <atomic>
#include <cstdint>

#include "nginx/ngx.h"

namespace fairway::ngx {

struct OneAddress {
  static constexpr std::uint32_t kWindow = 1'000;  // requests
  static constexpr std::int64_t kQuiet = 3'600;    // s between two warnings

  std::atomic<std::uint64_t> address;  // a hash of the first one of the window
  std::atomic<std::uint32_t> seen;     // requests of the window
  std::atomic<std::uint32_t> same;     // of which from `address`
  std::atomic<std::int64_t> warned;    // s; 0: never

  // Counts a request; true when it is of an address that sent more than nine of ten of at least kWindow requests, at most once in
  // kQuiet. `now`: s of a steady clock, above 0. Two workers at the edge of a window may miscount it by a few.
  bool warn(std::uint64_t from, std::int64_t now) noexcept {
    const std::uint32_t number = seen.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number == 1) {
      address.store(from, std::memory_order_relaxed);
      same.store(0, std::memory_order_relaxed);
    }
    const bool is_same = address.load(std::memory_order_relaxed) == from;
    const std::uint64_t shared = same.fetch_add(is_same ? 1 : 0, std::memory_order_relaxed) + (is_same ? 1 : 0);
    const bool nearly_all = shared * 10 > std::uint64_t{number} * 9;
    if (number < kWindow || (nearly_all && !is_same)) {  // the next one of that address tells it
      return false;
    }
    seen.store(0, std::memory_order_relaxed);
    std::int64_t last = warned.load(std::memory_order_relaxed);
    return nearly_all && (last == 0 || now - last >= kQuiet) && warned.compare_exchange_strong(last, now, std::memory_order_relaxed);
  }
};

class QueueClient;

// Counts the request for its queue, and logs the warning when it is due.
void watch_address(ngx_http_request_t* r, QueueClient& client) noexcept;

}  // namespace fairway::ngx
