#include "core/limiter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <new>

namespace fairway {
namespace {

// Time is cut into fifteenths of the window. An event at t and the sixteen parts up to its own cover everything after
// t - window, since 15 (t - window) / window = 15 t / window - 15; and nothing before t - window * 16 / 15.
constexpr std::uint64_t kParts = 15;
constexpr std::size_t kCounts = kParts + 1;
constexpr std::size_t kWays = 8;
constexpr std::size_t kMaxEntries = std::size_t{1} << 28;

std::size_t table_size(std::size_t entries) noexcept {
  return std::bit_ceil(std::clamp(entries, kWays, kMaxEntries));
}

std::uint32_t bounded(std::uint64_t window) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(window, 1, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

struct Limiter::Entry {
  std::uint64_t key;
  std::uint64_t last;    // ms; counts are those of the part of this moment and the 15 before it
  std::uint32_t window;  // ms; 0: free
  std::array<std::uint32_t, kCounts> counts;

  std::uint64_t part(std::uint64_t now) const noexcept { return now * kParts / window; }
  std::uint32_t& count(std::uint64_t part) noexcept { return counts[part % kCounts]; }
  std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint32_t n : counts) sum += n;
    return sum;
  }
  // When all it knows will have run out; a free entry: 0.
  std::uint64_t useful_until() const noexcept { return window == 0 ? 0 : last + window; }

  void start(std::uint64_t for_key, std::uint32_t for_window, std::uint64_t now) noexcept {
    key = for_key;
    last = now;
    window = for_window;
    counts.fill(0);
  }
  void advance(std::uint64_t now) noexcept {
    if (now <= last) return;
    const std::uint64_t from = part(last);
    const std::uint64_t steps = std::min<std::uint64_t>(part(now) - from, kCounts);
    for (std::uint64_t i = 1; i <= steps; ++i) count(from + i) = 0;
    last = now;
  }
};

std::size_t Limiter::bytes(std::size_t entries) noexcept {
  return sizeof(Limiter) + table_size(entries) * sizeof(Entry);
}

Limiter* Limiter::create(void* block, std::size_t entries) noexcept {
  static_assert(sizeof(Limiter) % alignof(Entry) == 0);
  const std::size_t size = table_size(entries);
  auto* limiter = new (block) Limiter(size - 1);
  std::uninitialized_value_construct_n(reinterpret_cast<Entry*>(limiter + 1), size);
  return limiter;
}

Limiter::Entry* Limiter::set_of(std::uint64_t key) noexcept {
  return std::launder(reinterpret_cast<Entry*>(this + 1)) + (key & mask_ & ~std::uint64_t{kWays - 1});
}

Limiter::Entry* Limiter::find(std::uint64_t key, std::uint32_t window) noexcept {
  Entry* set = set_of(key);
  Entry* end = set + kWays;
  Entry* found = std::find_if(set, end, [=](const Entry& entry) { return entry.window == window && entry.key == key; });
  return found == end ? nullptr : found;
}

Limiter::Entry& Limiter::find_or_make(std::uint64_t key, std::uint32_t window, std::uint64_t now) noexcept {
  Entry* set = set_of(key);
  Entry* choice = set;
  for (Entry* entry = set; entry != set + kWays; ++entry) {
    if (entry->window != 0 && entry->key == key) {
      choice = entry;
      break;
    }
    if (entry->useful_until() < choice->useful_until()) choice = entry;
  }
  if (choice->key != key || choice->window != window) choice->start(key, window, now);
  return *choice;
}

bool Limiter::admit(std::uint64_t key, std::uint32_t limit, std::uint64_t window, std::uint64_t now) noexcept {
  if (limit == 0) return false;
  Entry& entry = find_or_make(key, bounded(window), now);
  entry.advance(now);
  if (entry.total() >= limit) return false;
  ++entry.count(entry.part(entry.last));
  return true;
}

void Limiter::refund(std::uint64_t key, std::uint64_t window, std::uint64_t now) noexcept {
  Entry* entry = find(key, bounded(window));
  if (entry == nullptr) return;
  // It was counted at `now`, or later if another worker's clock was ahead. Parts that the window has passed are gone by themselves.
  const std::uint64_t newest = entry->part(entry->last);
  const std::uint64_t oldest = newest >= kParts ? newest - kParts : 0;
  for (std::uint64_t part = std::max(entry->part(now), oldest); part <= newest; ++part) {
    if (entry->count(part) == 0) continue;
    --entry->count(part);
    return;
  }
}

}  // namespace fairway
