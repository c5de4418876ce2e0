// What a gateway keeps of evictions, beside the store: passes and tickets from before one are refused at once, also after a restart
// that lost the store's memory. Plain data for shared memory (all zero: empty); the caller locks, but for latest().
//
// Tokens tell the second of admission. A pass of the very second of the cut is decided by its number when the cut was of the line, too:
// whoever came later has a larger one. Else it is not decided here: the store knows better.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "core/room.h"

namespace fairway::operate {

struct CutEntry {
  std::int64_t at = 0;       // Unix seconds: passes of sessions admitted before are refused
  std::uint64_t number = 0;  // tickets up to this number are refused; 0: none
  std::int64_t until = 0;    // Unix seconds: no token of then is of use any more; 0: free
  Network network;           // size 0: everybody

  bool operator==(const CutEntry&) const = default;
};

class CutList {
 public:
  static constexpr std::size_t kCuts = 16;  // as many as a store keeps

  // One that is known already changes nothing; a full list forgets the one that ends first.
  void add(const CutEntry& entry) noexcept {
    if (std::ranges::find(entries_, entry) != entries_.end()) {
      return;
    }
    const auto place = std::ranges::min_element(entries_, {}, &CutEntry::until);
    *place = entry;
    latest_.store(std::max(latest_.load(std::memory_order_relaxed), entry.at), std::memory_order_release);
  }
  // Of the cuts so far, Unix seconds; 0: there was none. Passes issued up to then are not taken on their word.
  std::int64_t latest() const noexcept { return latest_.load(std::memory_order_acquire); }

  bool hits_pass(std::int64_t admitted, std::uint64_t number, const Network& network, std::int64_t now) const noexcept {
    return any(network, now, [=](const CutEntry& entry) {
      return admitted < entry.at || (admitted == entry.at && number != 0 && number <= entry.number);
    });
  }
  bool hits_ticket(std::uint64_t number, const Network& network, std::int64_t now) const noexcept {
    return any(network, now, [number](const CutEntry& entry) { return number != 0 && number <= entry.number; });
  }
  template <class Visit>
  void each(std::int64_t now, Visit visit) const {
    for (const CutEntry& entry : entries_) {
      if (entry.until > now) {
        visit(entry);
      }
    }
  }

 private:
  template <class Hits>
  bool any(const Network& network, std::int64_t now, Hits hits) const noexcept {
    return std::ranges::any_of(entries_, [&](const CutEntry& entry) {
      return entry.until > now && (entry.network.size == 0 || entry.network == network) && hits(entry);
    });
  }

  std::atomic<std::int64_t> latest_{0};
  std::array<CutEntry, kCuts> entries_;
};

}  // namespace fairway::operate
