// The times of the last admissions of a room, for an exact sliding limit: no window of the given length, wherever it begins,
// holds more than `limit` admissions. (A counter per calendar second would let twice as many through at its edge.)
// Remembers as many times as the limit needs, in a table of the arena that grows when it must.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/pacing.h"

namespace fairway {

class RateRing {
 public:
  explicit RateRing(Arena& arena) noexcept : arena_(&arena) {}
  ~RateRing() { arena_->give_table(times_); }

  // Whether one more admission at `now` keeps every window of `window` µs at or below `limit`. Makes room for noting it; without
  // memory to note it the answer is no. `now` never goes back. window 0: no limit.
  bool allows(std::uint32_t limit, Micros window, Micros now) noexcept;
  // Notes an admission; when it was not allowed (mode open) the oldest may be forgotten for it.
  void note(std::uint32_t limit, Micros window, Micros now) noexcept;

  RateRing(const RateRing&) = delete;
  RateRing& operator=(const RateRing&) = delete;

 private:
  bool make_room(std::uint32_t limit, Micros window, Micros now) noexcept;
  Micros nth_last(std::uint32_t n) const noexcept { return times_[(next_ + capacity_ - n) % capacity_]; }

  Arena* arena_;
  Micros* times_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace fairway
