// Waking another worker of this gateway, of this or an earlier configuration: each worker has a datagram socket with an address
// that the kernel chose (Linux abstract names), and the address stands in shared memory. A datagram says nothing but "look": the
// truth is in shared memory, anybody in the network namespace may send one, and a lost one costs no more than a tick.
#pragma once

#include <cstdint>

#include "nginx/ngx.h"

namespace fairway::ngx {

class Mailbox {
 public:
  // The five bytes of an autobound abstract name, as one number; 0: none.
  using Address = std::uint64_t;

  // Opens this worker's socket; `on_wake` runs in the event loop after one or more wakes. NGX_ERROR: no socket to be had.
  ngx_int_t open(ngx_cycle_t* cycle, void (*on_wake)()) noexcept;
  void close() noexcept;
  Address address() const noexcept { return address_; }

  // False: nobody listens there any more. A full mailbox is a success, for a wake is pending then.
  bool wake(Address address) const noexcept;

 private:
  static void on_readable(ngx_event_t* event) noexcept;

  ngx_connection_t* connection_ = nullptr;
  Address address_ = 0;
  void (*on_wake_)() = nullptr;
};

}  // namespace fairway::ngx
