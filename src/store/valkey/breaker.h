// The breaker before a store: after the first failure that any worker notices nobody starts a call for a while, then one caller
// may try. Lies in memory shared by the workers of a gateway, zeroed at start; lock-free, so no worker that dies can leave it
// locked. Times are µs of a steady clock that all workers share, not the store's.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/pacing.h"

namespace fairway::valkey {

class Breaker {
 public:
  // The right to make one call; told to `succeeded` or `failed` when the outcome is known. A worker that dies with one needs no
  // clean-up: the right to probe lapses.
  struct Permit {
    bool allowed = false;
    Micros probe = 0;          // not 0: this call is the one probe
    std::uint64_t outage = 0;  // outages() when the call was started
  };

  // Asks for a call. `patience`: within this time a probe has its outcome, else the next caller probes; above 0.
  Permit ask(Micros now, Micros patience) noexcept {
    const std::uint64_t outage = outages();
    Micros until = until_.load();
    if (until == 0) return {true, 0, outage};
    if (now < until || !until_.compare_exchange_strong(until, now + patience)) return {};
    return {true, now + patience, outage};
  }

  // Whether a call would be refused now, also while another caller probes.
  bool refuses(Micros now) const noexcept { return now < until_.load(); }
  // Whether an outage is noticed and not yet over.
  bool open() const noexcept { return until_.load() != 0; }

  // Only a probe that succeeded ends the outage: an answer to a call from before it says nothing about now.
  void succeeded(const Permit& permit) noexcept {
    Micros probe = permit.probe;
    if (probe != 0) until_.compare_exchange_strong(probe, 0);
  }

  // `pause`: how long nobody calls from now on, above 0. A late failure of a call from before an outage changes nothing.
  void failed(const Permit& permit, Micros now, Micros pause) noexcept {
    Micros expected = permit.probe;
    if (expected == 0 && permit.outage != outages()) return;
    if (until_.compare_exchange_strong(expected, now + pause) && permit.probe == 0) outages_.fetch_add(1);
  }

  // How many outages began. A room whose last successful call was started with a smaller number tells the store that an outage
  // ended (room::Memory::outage_ended); so does the probe itself, since it may be the call that finds the store back.
  std::uint64_t outages() const noexcept { return outages_.load(); }

 private:
  std::atomic<Micros> until_{0};  // 0: closed; else nobody calls before this moment
  std::atomic<std::uint64_t> outages_{0};
};

static_assert(std::atomic<Micros>::is_always_lock_free && sizeof(Breaker) == 16);

}  // namespace fairway::valkey
