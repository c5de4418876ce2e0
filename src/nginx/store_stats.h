// What the gateway counts of its calls of a shared store. Plain data in shared memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "store/valkey/client.h"

namespace fairway::ngx {

struct StoreStats {
  static constexpr std::array<std::int64_t, 12> kBounds = {250,    500,    1'000,   2'500,   5'000,   10'000,
                                                           25'000, 50'000, 100'000, 250'000, 500'000, 1'000'000};  // µs

  std::atomic<std::uint64_t> results[3];  // by valkey::Outcome: answered, no_memory; then failed
  std::atomic<std::uint64_t> took[kBounds.size() + 1];
  std::atomic<std::uint64_t> took_sum;  // µs

  void count(const valkey::Report& report) noexcept {
    const std::size_t result = report.outcome == valkey::Outcome::answered ? 0 : report.outcome == valkey::Outcome::no_memory ? 1 : 2;
    results[result].fetch_add(1, std::memory_order_relaxed);
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && report.took > kBounds[bucket]) {
      ++bucket;
    }
    took[bucket].fetch_add(1, std::memory_order_relaxed);
    took_sum.fetch_add(static_cast<std::uint64_t>(report.took), std::memory_order_relaxed);
  }
};

}  // namespace fairway::ngx
