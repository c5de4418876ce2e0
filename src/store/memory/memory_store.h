// Rooms in one block of memory: nginx shared memory, or the heap in tests and benchmarks. Everything lives inside the block; no
// pointer leaves the block or enters it, except between processes that map it at the same address (nginx workers do).
//
// The caller holds one lock around every call. A process that dies inside a call leaves its mark; the next caller discards the
// containers and, from what its gateway remembers (room::Memory), each room starts a new epoch and recovers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/room.h"

namespace fairway {

class Arena;

class MemoryStore {
 public:
  static constexpr std::size_t kMinSize = 256 * 1024;
  static constexpr std::size_t kMaxName = 32;  // bytes of a room's name

  // Makes an empty store in `block` (page aligned). nullptr when size is below 256 KiB.
  static MemoryStore* create(void* block, std::size_t size) noexcept;
  // The store that another process or an earlier configuration made in `block`; nullptr when it is none of this layout.
  static MemoryStore* attach(void* block, std::size_t size) noexcept;

  // Runs `operations` on the room `name` (made on first use) as one atomic step; `answers` has the same length. `now`: the wall
  // clock in µs; a step back is made good here. `pid`: of the calling process, for the mark. Never throws; a full block gives
  // State::no_memory for the operations that needed memory and leaves the rest true.
  room::Summary call(std::string_view name, Micros now, const room::Settings& settings, const room::Memory& memory,
                     std::span<const room::Operation> operations, std::span<room::Answer> answers, std::int32_t pid) noexcept;

  // A call without operations that also tells which sessions were ended or cut after version `since` of the room.
  room::Summary stats(std::string_view name, Micros now, const room::Settings& settings, const room::Memory& memory, std::uint64_t since,
                      room::Changes& changes, std::int32_t pid) noexcept;

  // Ends many sessions at once; when the status is not done, `go_on` with its id does the next part (any other call does, too).
  room::CutStatus cut(std::string_view name, Micros now, const room::Settings& settings, const room::Memory& memory, const room::Cut& cut,
                      room::Summary& summary, std::int32_t pid) noexcept;
  room::CutStatus go_on(std::string_view name, Micros now, const room::Settings& settings, const room::Memory& memory, std::uint64_t id,
                        room::Summary& summary, std::int32_t pid) noexcept;

  // The first room after `name` in order ("" gives the first of all): writes its name, returns its length, 0 when there is none.
  std::size_t next_room(std::string_view name, std::span<char, kMaxName> out, std::int32_t pid) noexcept;
  // Forgets a room: from now on the name is free. Its memory comes back in steps of 1,000 sessions, here and by clean(); true when all of
  // it has.
  bool remove(std::string_view name, std::int32_t pid) noexcept;
  bool clean(std::int32_t pid) noexcept;
  // Whether there is memory for one more room and somebody in it.
  bool fits_room(std::int32_t pid) noexcept;

  // Bytes a store needs for so many sessions (inside and waiting), for the warning of nginx -t.
  static std::size_t bytes_for(std::uint64_t sessions) noexcept;

  std::size_t free_bytes() const noexcept;
  // Of which sessions can take so many; 0: the store is full.
  std::size_t free_for_sessions() const noexcept;
  // How often a torn block was discarded.
  std::uint64_t rebuilt() const noexcept { return rebuilt_; }

  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

 private:
  struct Rooms;
  class Mark;

  explicit MemoryStore(std::size_t size) noexcept;
  void lay_out() noexcept;
  template <class Run>
  bool with_room(std::string_view name, std::int32_t pid, Run run) noexcept;

  std::uint64_t magic_;
  std::uint32_t layout_;
  std::atomic<std::int32_t> mutator_{0};  // the process inside a call; found set by the next caller: it died there
  std::uint64_t size_;
  std::uint64_t rebuilt_ = 0;
  Arena* arena_ = nullptr;
  Rooms* rooms_ = nullptr;
};

}  // namespace fairway
