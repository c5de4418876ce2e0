// The last changes: when, what, from where. Plain data for shared memory (all zero: empty); the caller locks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fairway::operate {

struct Event {
  std::int64_t time;  // Unix seconds
  char what[224];     // UTF-8, NUL-terminated, cut at the end of a character
  char from[48];      // a network, or what made the change
};

struct EventRing {
  static constexpr std::size_t kEvents = 1'000;

  std::uint64_t count;  // ever
  Event events[kEvents];

  void add(std::int64_t time, std::string_view what, std::string_view from) noexcept {
    Event& event = events[count++ % kEvents];
    event.time = time;
    fill(event.what, what);
    fill(event.from, from);
  }
  // Calls visit(event) for each, the newest first.
  template <class Visit>
  void each(Visit visit) const {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, kEvents); ++i) {
      visit(events[(count - 1 - i) % kEvents]);
    }
  }

 private:
  template <std::size_t size>
  static void fill(char (&place)[size], std::string_view text) noexcept {
    std::size_t length = std::min(text.size(), size - 1);
    while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) {
      --length;
    }
    std::copy_n(text.begin(), length, place);
    place[length] = '\0';
  }
};

}  // namespace fairway::operate
