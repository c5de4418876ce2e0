// What was counted each second of the last 15 minutes, for charts. Plain data for shared memory (all zero: empty); the caller locks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairway::operate {

template <class Sample>
struct History {
  static constexpr std::int64_t kSeconds = 900;

  struct Entry {
    std::uint32_t second;  // Unix
    Sample sample;
  };
  Entry entries[kSeconds];

  void record(std::int64_t second, const Sample& sample) noexcept {
    entries[second % kSeconds] = {static_cast<std::uint32_t>(second), sample};
  }
  // Calls visit(second, sample) for each second after `since` up to `now`, oldest first; nullptr when nothing was counted then.
  template <class Visit>
  void each(std::int64_t since, std::int64_t now, Visit visit) const {
    for (std::int64_t second = since < now - kSeconds ? now - kSeconds + 1 : since + 1; second <= now; ++second) {
      const Entry& entry = entries[second % kSeconds];
      visit(second, entry.second == static_cast<std::uint32_t>(second) ? &entry.sample : nullptr);
    }
  }
};

struct RoomSample {
  std::uint32_t waiting;
  std::uint32_t inside;
  std::uint32_t admitted;  // ever, the low 32 bits
};

struct QueueSample {
  std::uint32_t running;
  std::uint32_t waiting;
  std::uint32_t p50, p90, p99;  // of the latest waits, ms
  std::uint32_t answered;       // requests that ended their wait, ever, the low 32 bits
};

}  // namespace fairway::operate
