#include "core/ended_list.h"

#include <bit>
#include <new>

namespace fairway {

namespace {

struct Words {
  std::uint64_t high;
  std::uint64_t low;
};

Words words(const Sid& sid) noexcept {
  return std::bit_cast<Words>(sid.bytes);
}

std::size_t rounded(std::size_t entries) noexcept {
  return std::bit_ceil(entries < EndedList::kWays ? EndedList::kWays : entries);
}

}  // namespace

Sid EndedList::Slot::sid() const noexcept {
  return Sid{std::bit_cast<std::array<std::uint8_t, 16>>(Words{high.load(std::memory_order_relaxed), low.load(std::memory_order_relaxed)})};
}

std::size_t EndedList::bytes(std::size_t entries) noexcept {
  return sizeof(EndedList) + rounded(entries) * sizeof(Slot);
}

EndedList* EndedList::create(void* block, std::size_t entries) noexcept {
  auto* list = new (block) EndedList;
  list->mask_ = rounded(entries) - 1;
  for (std::size_t i = 0; i <= list->mask_; ++i) {
    new (&list->slots()[i]) Slot{};
  }
  return list;
}

void EndedList::add(const Sid& sid, std::int64_t until, std::int64_t now) noexcept {
  const Words key = words(sid);
  // sids are random bits of our own making, signed: no client chooses its set
  Slot* set = slots() + (key.low & mask_ & ~(kWays - 1));
  Slot* place = nullptr;
  Slot* soonest = set;
  for (Slot* slot = set; slot != set + kWays; ++slot) {
    if (slot->high.load(std::memory_order_relaxed) == key.high && slot->low.load(std::memory_order_relaxed) == key.low) {
      place = slot;
      break;
    }
    const std::int64_t end = slot->until.load(std::memory_order_relaxed);
    if (place == nullptr && end <= now) {
      place = slot;
    }
    if (end < soonest->until.load(std::memory_order_relaxed)) {
      soonest = slot;
    }
  }
  if (place == nullptr) {
    place = soonest;
    if (const auto lost = place->until.load(std::memory_order_relaxed); lost > crowded_until_.load(std::memory_order_relaxed)) {
      crowded_until_.store(lost, std::memory_order_relaxed);
    }
  }
  const bool same = place->high.load(std::memory_order_relaxed) == key.high && place->low.load(std::memory_order_relaxed) == key.low;
  if (!same) {
    place->until.store(0, std::memory_order_release);  // nobody may take half of the new sid for the old one
    place->high.store(key.high, std::memory_order_release);
    place->low.store(key.low, std::memory_order_release);
    place->until.store(until, std::memory_order_release);
  } else if (place->until.load(std::memory_order_relaxed) < until) {
    place->until.store(until, std::memory_order_release);
  }
  if (until > last_until_.load(std::memory_order_relaxed)) {
    last_until_.store(until, std::memory_order_release);
  }
  version_.fetch_add(1, std::memory_order_relaxed);
}

bool EndedList::contains(const Sid& sid, std::int64_t now) const noexcept {
  if (now >= last_until_.load(std::memory_order_acquire)) {
    return false;
  }
  const Words key = words(sid);
  const Slot* set = slots() + (key.low & mask_ & ~(kWays - 1));
  for (const Slot* slot = set; slot != set + kWays; ++slot) {
    if (slot->until.load(std::memory_order_acquire) > now && slot->low.load(std::memory_order_acquire) == key.low &&
        slot->high.load(std::memory_order_acquire) == key.high) {
      return true;
    }
  }
  return false;
}

}  // namespace fairway
