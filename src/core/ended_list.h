// Sessions that ended while their pass may still look young: passes are stateless, so those few are looked up here. A fixed,
// set-associative table in shared memory: lookups take no lock, changes are made under the caller's. When a set is full of live
// entries the list is `crowded` for a while: then no pass counts as young and the store, which marks ended sessions itself, is
// asked instead. So memory is bounded and an ended session is refused all the same.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/sid.h"

namespace fairway {

class EndedList {
 public:
  static constexpr std::size_t kWays = 8;

  // Bytes for `entries` (rounded up to a power of two, at least one set).
  static std::size_t bytes(std::size_t entries) noexcept;
  // An empty list at `block`, 8-byte aligned.
  static EndedList* create(void* block, std::size_t entries) noexcept;

  // `until` and `now`: Unix seconds; an entry counts while now < until. Adding again prolongs.
  void add(const Sid& sid, std::int64_t until, std::int64_t now) noexcept;
  bool contains(const Sid& sid, std::int64_t now) const noexcept;
  // True while an entry was dropped for want of room that could still matter.
  bool crowded(std::int64_t now) const noexcept { return now < crowded_until_.load(std::memory_order_relaxed); }

  // Grows with each add: tells whether a saved copy is stale.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  // Calls visit(sid, until) for each live entry.
  template <class Visit>
  void each(std::int64_t now, Visit visit) const {
    for (std::size_t i = 0; i <= mask_; ++i) {
      if (slots()[i].until.load(std::memory_order_relaxed) > now) {
        visit(slots()[i].sid(), slots()[i].until.load(std::memory_order_relaxed));
      }
    }
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> high;
    std::atomic<std::uint64_t> low;
    std::atomic<std::int64_t> until;

    Sid sid() const noexcept;
  };

  const Slot* slots() const noexcept { return reinterpret_cast<const Slot*>(this + 1); }
  Slot* slots() noexcept { return reinterpret_cast<Slot*>(this + 1); }

  std::size_t mask_ = 0;                     // slots - 1
  std::atomic<std::int64_t> last_until_{0};  // latest end of all entries: nothing to look up after it
  std::atomic<std::int64_t> crowded_until_{0};
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace fairway
