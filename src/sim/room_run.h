// The inside of simulate_room: one run. room_sim.cpp has the clock and the sums, room_visitors.cpp what people do.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/limiter.h"
#include "sim/room_host.h"
#include "sim/room_sim.h"
#include "sim/timeline.h"

namespace fairway::sim {

inline constexpr Micros kSecond = 1'000'000;
inline constexpr Micros kNever = std::numeric_limits<Micros>::max();
inline constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

enum class Where : std::uint8_t { outside, in_line, inside };

struct Visitor {
  std::uint64_t serial = 0;  // of the session
  std::uint64_t number = 0;  // the place the ticket claims; 0: none
  Micros arrived = 0;
  Micros asked = 0;     // the last call of the store: when ticket or pass was issued
  Micros until = 0;     // outside: patience ends; inside: the stay ends
  Micros noted_at = 0;  // of the shown estimate that is judged
  std::uint32_t noted = 0;
  std::uint32_t shown = kNothing;  // the estimate on the page, s
  std::uint32_t looks = 0;         // estimates shown that could be judged
  std::uint32_t bot = 0;           // whose it is; 0: a visitor
  Where where = Where::outside;
  bool polite = false;
  bool hidden = false;
  bool signs_out = false;
  bool was_inside = false;
};

// A table of the limiter on the heap.
class HeapLimiter {
 public:
  explicit HeapLimiter(std::size_t entries) : memory_(Limiter::bytes(entries) / sizeof(std::uint64_t) + 1) {
    limiter_ = Limiter::create(memory_.data(), entries);
  }
  bool admit(std::uint64_t key, std::uint32_t limit, Micros window, Micros now) {
    return limiter_->admit(key, limit, static_cast<std::uint64_t>(window / 1000), static_cast<std::uint64_t>(now / 1000) + 1);
  }

 private:
  std::vector<std::uint64_t> memory_;
  Limiter* limiter_;
};

std::uint64_t mix(std::uint64_t n) noexcept;
Sid sid_of(std::uint64_t serial) noexcept;

class RoomSimulation {
 public:
  RoomSimulation(const RoomPlan& plan, const std::function<void(const RoomProgress&)>& progress);
  RoomReport run();

 private:
  void arrive();
  void start_bots();
  void second();
  void happen(std::uint32_t index);
  void ask(std::uint32_t index);
  void act_on(std::uint32_t index, const room::Answer& answer);
  void wait_in_line(std::uint32_t index, const room::Answer& answer);
  void come_in(std::uint32_t index);
  void visit(std::uint32_t index);
  void give_up(std::uint32_t index);
  void leave(std::uint32_t index);
  void begin_anew(Visitor& v);
  void bot_acts(std::uint32_t index);
  void look_at_estimate(Visitor& v, std::uint64_t rank);
  void judge_estimate(const Visitor& v);
  void finish();
  bool over() const;

  room::Answer call(Visitor& v, room::Kind kind);
  std::uint32_t add(const Visitor& v);
  void ask_after(std::uint32_t index, Micros pause);
  void look_in_after(std::uint32_t index);

  const RoomPlan plan_;
  const std::function<void(const RoomProgress&)>& progress_;
  RoomHost host_;
  Random random_;
  ArrivalTimes arrivals_;
  std::optional<Micros> next_arrival_;
  Micros next_second_ = 0;
  std::size_t next_change_ = 0;
  room::Settings settings_;
  Micros end_;
  HeapLimiter entries_, polls_;

  std::vector<Visitor> visitors_;
  std::vector<std::uint32_t> free_;
  Timeline timeline_;
  Micros now_ = 0;
  std::uint64_t serials_ = 0;
  Micros changed_at_ = 0;
  Micros line_since_ = kNever;
  std::uint64_t silent_in_line_ = 0;  // bots, too
  std::uint64_t declined_ = 0;        // left politely though called
  std::uint64_t claimed_ = 0;         // came when they were called
  std::uint64_t direct_ = 0;          // bots, too
  std::uint64_t calls_before_ = 0, admitted_before_ = 0;
  RoomReport report_;
};

}  // namespace fairway::sim
