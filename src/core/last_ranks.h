// The rank that each waiter was told last, for the time when the store cannot be asked. A fixed, set-associative table in shared
// memory, one word an entry, so that no lock is needed; a full set forgets one of its entries, and the rank of that waiter is then
// not told. Sessions are 128 random bits of our own making: no client chooses its set.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "core/sid.h"

namespace fairway {

class LastRanks {
 public:
  static constexpr std::size_t kWays = 4;
  static constexpr std::uint64_t kMaxRank = (1U << 24) - 1;  // a larger one is kept as this

  // Bytes for `entries`, a power of two of at least one set.
  static constexpr std::size_t bytes(std::size_t entries) noexcept {
    return sizeof(LastRanks) + entries * sizeof(std::atomic<std::uint64_t>);
  }
  // An empty table at `block`, 8-byte aligned.
  static LastRanks* create(void* block, std::size_t entries) noexcept {
    auto* table = new (block) LastRanks(entries - 1);
    for (std::size_t i = 0; i < entries; ++i) {
      new (table->slots() + i) std::atomic<std::uint64_t>(0);
    }
    return table;
  }

  void put(const Sid& sid, std::uint64_t rank) noexcept {
    const Key key = key_of(sid);
    std::atomic<std::uint64_t>* place = key.set + key.tag % kWays;  // in a full set
    for (std::atomic<std::uint64_t>* slot = key.set; slot != key.set + kWays; ++slot) {
      const std::uint64_t entry = slot->load(std::memory_order_relaxed);
      if (entry >> 24 == key.tag) {
        place = slot;
        break;
      }
      if (entry == 0) {
        place = slot;
      }
    }
    place->store(key.tag << 24 | (rank < kMaxRank ? rank : kMaxRank), std::memory_order_relaxed);
  }
  // 0: not known.
  std::uint64_t get(const Sid& sid) noexcept {
    const Key key = key_of(sid);
    for (std::atomic<std::uint64_t>* slot = key.set; slot != key.set + kWays; ++slot) {
      const std::uint64_t entry = slot->load(std::memory_order_relaxed);
      if (entry >> 24 == key.tag) {
        return entry & kMaxRank;
      }
    }
    return 0;
  }

 private:
  struct Key {
    std::atomic<std::uint64_t>* set;
    std::uint64_t tag;  // 40 bits, never 0
  };
  explicit LastRanks(std::size_t mask) noexcept : mask_(mask) {}
  std::atomic<std::uint64_t>* slots() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
  Key key_of(const Sid& sid) noexcept {
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(sid.bytes);
    return {slots() + (words[0] & mask_ & ~(kWays - 1)), words[1] >> 24 | 1};
  }

  std::uint64_t mask_;  // entries - 1
};

}  // namespace fairway
