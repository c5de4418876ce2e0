// Counts events per key over a sliding window, in a fixed table that lies in any block of memory (shared by workers; the caller
// locks). Never admits more than `limit` in any window; errs on the strict side by at most one fifteenth of the window.
// Memory is bounded whatever clients send: a full table forgets, of a small set, the key whose count would run out first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairway {

class Limiter {
 public:
  // Bytes needed for a table of `entries` keys (rounded up to a power of two, at least 8 and at most 2^28); 88 each.
  static std::size_t bytes(std::size_t entries) noexcept;
  // Lays out an empty table at `block` (8-byte aligned, zeroed or not). It may be used at any address where the block is mapped.
  static Limiter* create(void* block, std::size_t entries) noexcept;

  // Counts one event and returns true, or returns false and counts nothing when `limit` were exceeded.
  // `key` is a keyed hash, never client bytes. `window` and `now` in ms of a steady clock; limit 0 admits nothing.
  // A window is 1 ms to 49 days; a key used with another window starts anew. A `now` before an earlier one of the same key
  // (clocks of workers differ a little) counts as that one.
  bool admit(std::uint64_t key, std::uint32_t limit, std::uint64_t window, std::uint64_t now) noexcept;
  // Takes back an event just admitted (it turned out not to count); all arguments as they were given to admit.
  void refund(std::uint64_t key, std::uint64_t window, std::uint64_t now) noexcept;

  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

 private:
  struct Entry;
  explicit Limiter(std::size_t mask) noexcept : mask_(mask) {}
  Entry* set_of(std::uint64_t key) noexcept;
  Entry* find(std::uint64_t key, std::uint32_t window) noexcept;
  Entry& find_or_make(std::uint64_t key, std::uint32_t window, std::uint64_t now) noexcept;

  std::size_t mask_;
};

}  // namespace fairway
