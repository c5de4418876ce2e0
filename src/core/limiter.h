// Counts events per key over a sliding window, in a fixed table that lies in any block of memory (shared by workers; the caller
// locks). Never admits more than `limit` in any window; errs on the strict side by at most one fifteenth of the window.
// A full table forgets the least recently used key of a small set, so memory is bounded whatever clients send.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairway {

class Limiter {
 public:
  // Bytes needed for a table of `entries` keys (rounded up to a power of two).
  static std::size_t bytes(std::size_t entries) noexcept;
  // Lays out an empty table at `block` (8-byte aligned, zeroed or not).
  static Limiter* create(void* block, std::size_t entries) noexcept;

  // Counts one event and returns true, or returns false and counts nothing when `limit` were exceeded.
  // `key` is a keyed hash, never client bytes. `window` and `now` in ms of a steady clock; limit 0 admits nothing.
  bool admit(std::uint64_t key, std::uint32_t limit, std::uint64_t window, std::uint64_t now) noexcept;
  // Takes back an event just admitted (it turned out not to count).
  void refund(std::uint64_t key, std::uint64_t window, std::uint64_t now) noexcept;

 private:
  struct Entry;
  std::size_t mask_;
};

}  // namespace fairway
