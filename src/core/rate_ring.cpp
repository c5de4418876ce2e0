#include "core/rate_ring.h"

#include <algorithm>

namespace fairway {

bool RateRing::allows(std::uint32_t limit, Micros window, Micros now) noexcept {
  if (window == 0) return true;
  if (limit == 0) return false;
  if (count_ >= limit && nth_last(limit) > now - window) return false;
  return make_room(limit, window, now);
}

void RateRing::note(std::uint32_t limit, Micros window, Micros now) noexcept {
  if (window == 0 || limit == 0) return;
  if (!make_room(limit, window, now) && capacity_ == 0) return;
  times_[next_] = now;
  next_ = (next_ + 1) % capacity_;
  count_ = std::min(count_ + 1, capacity_);
}

// True when noting one more forgets nothing that could still matter.
bool RateRing::make_room(std::uint32_t limit, Micros window, Micros now) noexcept {
  if (count_ < capacity_ || capacity_ >= limit) return true;
  if (capacity_ > 0 && nth_last(count_) <= now - window) return true;
  constexpr std::uint32_t kFirst = 64;
  const std::uint32_t larger = capacity_ == 0 ? std::min(kFirst, limit) : std::min<std::uint32_t>(limit, capacity_ * 2);
  auto* times = static_cast<Micros*>(arena_->take_table(larger * sizeof(Micros)));
  if (times == nullptr) return false;
  for (std::uint32_t i = 0; i < count_; ++i) times[i] = nth_last(count_ - i);
  if (times_ != nullptr) arena_->give_table(times_);
  times_ = times;
  capacity_ = larger;
  next_ = count_ % capacity_;
  return true;
}

}  // namespace fairway
