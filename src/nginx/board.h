// What the workers share of the operators' changes: the text of all adjustments, twice, so that a writer that dies half-way leaves the
// one that holds; which text of a shared store is in it; and the list of changes. Plain data in the zone.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "operate/events.h"
#include "operate/history.h"

namespace fairway::ngx {

// Of a file in the state folder that could not be written. Of each part the latest writer's word counts.
struct SaveTrouble {
  std::atomic<std::int32_t> error;     // errno of the last try; 0: it is written
  std::atomic<std::int64_t> at;        // Unix seconds of that try
  std::atomic<std::int64_t> last_log;  // Unix seconds

  void note(std::int32_t errno_of_try, std::int64_t now) noexcept {
    error.store(errno_of_try, std::memory_order_relaxed);
    at.store(errno_of_try == 0 ? 0 : now, std::memory_order_relaxed);
  }
};

struct Board {
  static constexpr std::size_t kMaxText = 512 * 1024;  // bytes

  std::atomic<std::uint64_t> version;  // 0: nothing was ever changed
  std::atomic<std::uint64_t> saved;    // the version that is in the state folder of the newest configuration
  SaveTrouble trouble;
  std::size_t sizes[2];
  char stamp[24];  // of the latest text of the store that is in ours, NUL-terminated; empty: none yet
  operate::EventRing events;
  char texts[2][kMaxText];

  // All of these under the zone's lock.
  std::string_view text() const noexcept {
    const std::uint64_t which = version.load(std::memory_order_relaxed) & 1;
    return {texts[which], sizes[which]};
  }
  // False, changing nothing, when somebody else has published after `expected`. At most kMaxText bytes.
  bool publish(std::uint64_t expected, std::string_view text) noexcept {
    if (version.load(std::memory_order_relaxed) != expected) {
      return false;
    }
    const std::uint64_t next = expected + 1;
    std::memcpy(texts[next & 1], text.data(), text.size());
    sizes[next & 1] = text.size();
    version.store(next, std::memory_order_release);
    return true;
  }
  // What the newest configuration's state folder has of it, whatever was saved before.
  bool is_saved() const noexcept { return version.load(std::memory_order_relaxed) == saved.load(std::memory_order_relaxed); }
  void set_stamp(std::string_view text) noexcept {
    const std::size_t size = text.size() < sizeof(stamp) ? text.size() : sizeof(stamp) - 1;
    std::memcpy(stamp, text.data(), size);
    stamp[size] = '\0';
  }
};

using RoomHistory = operate::History<operate::RoomSample>;
using QueueHistory = operate::History<operate::QueueSample>;

}  // namespace fairway::ngx
