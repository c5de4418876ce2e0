// What is to happen when, for millions of events: buckets of a tenth of a second, so that putting in and taking out do not depend
// on how many there are. Events of the same moment come in the order of their subjects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "core/pacing.h"

namespace fairway::sim {

class Timeline {
 public:
  struct Event {
    Micros at = 0;
    std::uint32_t subject = 0;

    bool operator>(const Event& other) const noexcept { return std::tie(at, subject) > std::tie(other.at, other.subject); }
  };

  Timeline() : buckets_(kBuckets) {}

  // `at` is not before the last event taken.
  void put(Micros at, std::uint32_t subject) {
    const Micros bucket = at / kWidth;
    if (bucket <= bucket_) {
      now_.push_back({at, subject});
      std::push_heap(now_.begin(), now_.end(), std::greater<>());
    } else if (bucket < bucket_ + kBuckets) {
      buckets_[static_cast<std::size_t>(bucket % kBuckets)].push_back({at, subject});
      ++near_;
    } else {
      far_.push_back({at, subject});
    }
  }

  // The next event before `end`, if there is one.
  std::optional<Event> take(Micros end) {
    while (now_.empty()) {
      if (near_ + far_.size() == 0 || (bucket_ + 1) * kWidth >= end) return std::nullopt;
      advance();
    }
    if (now_.front().at >= end) return std::nullopt;
    std::pop_heap(now_.begin(), now_.end(), std::greater<>());
    const Event event = now_.back();
    now_.pop_back();
    return event;
  }

  bool empty() const noexcept { return now_.empty() && near_ == 0 && far_.empty(); }

 private:
  static constexpr Micros kWidth = 100'000;
  static constexpr Micros kBuckets = 2048;  // more than three minutes; what is further away is looked at once a round

  void advance() {
    ++bucket_;
    if (bucket_ % kBuckets == 0) bring_near();
    now_.swap(buckets_[static_cast<std::size_t>(bucket_ % kBuckets)]);
    near_ -= now_.size();
    std::make_heap(now_.begin(), now_.end(), std::greater<>());
  }

  void bring_near() {
    const auto is_far = [this](const Event& event) { return event.at / kWidth >= bucket_ + kBuckets; };
    const auto near = std::partition(far_.begin(), far_.end(), is_far);
    for (auto event = near; event != far_.end(); ++event) {
      buckets_[static_cast<std::size_t>(event->at / kWidth % kBuckets)].push_back(*event);
      ++near_;
    }
    far_.erase(near, far_.end());
  }

  std::vector<std::vector<Event>> buckets_;
  std::vector<Event> now_;  // of the running bucket, a heap
  std::vector<Event> far_;
  Micros bucket_ = 0;
  std::size_t near_ = 0;
};

}  // namespace fairway::sim
