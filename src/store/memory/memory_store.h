// Rooms in one block of memory: nginx shared memory, or the heap in tests and benchmarks. Boost.MultiIndex containers with a
// Boost.Interprocess allocator that lives inside the block; no pointer leaves the block or enters it, except between processes
// that map it at the same address (nginx workers do).
//
// The caller holds one lock around every call. A process that dies inside a call leaves its mark; the next caller discards the
// containers and, from what its gateway remembers (room::Memory), each room starts a new epoch and recovers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/room.h"

namespace fairway {

class MemoryStore {
 public:
  // Makes an empty store in `block` (page aligned). nullptr when size is below 256 KiB.
  static MemoryStore* create(void* block, std::size_t size) noexcept;
  // The store that another process or an earlier configuration made in `block`; nullptr when it is none of this layout.
  static MemoryStore* attach(void* block, std::size_t size) noexcept;

  // Runs `operations` on the room `name` (made on first use) as one atomic step; `answers` has the same length. `now`: the wall
  // clock in µs; a step back is made good here. `pid`: of the calling process, for the mark. Never throws; a full block gives
  // State::no_memory for the operations that needed memory and leaves the rest true.
  room::Summary call(std::string_view name, Micros now, const room::Settings& settings, const room::Memory& memory,
                     std::span<const room::Operation> operations, std::span<room::Answer> answers, std::int32_t pid) noexcept;

  // Bytes a store needs for so many sessions (inside and waiting), for the warning of nginx -t.
  static std::size_t bytes_for(std::uint64_t sessions) noexcept;

  std::size_t free_bytes() const noexcept;
  // How often a torn block was discarded.
  std::uint64_t rebuilt() const noexcept;

  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

 private:
  MemoryStore() = default;
};

}  // namespace fairway
