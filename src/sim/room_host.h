// One gateway with one room on the heap: calls the rules, remembers what a gateway remembers, estimates waits as it does.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "core/arena.h"
#include "core/room_state.h"

namespace fairway::sim {

class RoomHost {
 public:
  // Memory for `records` sessions, taken from the system as it is used.
  explicit RoomHost(std::uint64_t records);
  ~RoomHost();
  RoomHost(const RoomHost&) = delete;
  RoomHost& operator=(const RoomHost&) = delete;

  room::Answer call(const room::Settings& settings, const room::Operation& operation, Micros now);
  // What a gateway does once a second: asks how things are, again as long as work is left.
  void look(const room::Settings& settings, Micros now);

  const room::Summary& summary() const noexcept { return summary_; }
  // The estimate of a place, s; nullopt: cannot be told, or the line is on hold.
  std::optional<std::uint32_t> wait(const room::Settings& settings, std::uint64_t rank) const;
  bool holds_grant(const Sid& sid) const;  // was called and has not come yet
  std::uint64_t calls() const noexcept { return calls_; }

 private:
  struct FreeBlock {
    void operator()(void* block) const noexcept { ::operator delete (block, std::align_val_t{64}); }
  };

  void run(const room::Settings& settings, Micros now, std::span<const room::Operation> operations, std::span<room::Answer> answers);

  std::unique_ptr<void, FreeBlock> block_;
  room::RoomState* state_;
  room::Memory memory_;
  room::Summary summary_;
  RateEstimator rate_;
  std::uint64_t calls_ = 0;
};

}  // namespace fairway::sim
