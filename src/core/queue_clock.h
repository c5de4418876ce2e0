// Virtual time: the clocks of the levels and the keys of the flows (start-time fair queuing with reserved, accruing cost).
//
//   A_f = Σ over running requests of max(estimate, ρ × time since start)  reserved, then accruing
//   K_f = settled_f + A_f ÷ weight_f                                      the key; least first
//   V   : dV/dt = ρ × running ÷ Σ weights of active flows, and never behind the least key of the flows that wait
//   debt_f = max(0, K_f − V)
//
// (reference: Goyal et al., "Start-time Fair Queueing", 1996; the accrual and the moving clock are for costs known only afterwards.)
// ρ is what a second of slot time has cost lately: 1, unless the application reports less. When a request's cost turns out different from
// what its time was taken to cost, the clock takes the difference back: clock and keys stay on one scale whatever unit the application
// reports in.
#pragma once

#include <algorithm>

#include "core/queue_state.h"

namespace fairway::queue {

// Moves the clock of `level` to the current time. To be called before anything changes that its speed depends on.
void advance(Tables& t, Level& level) noexcept;

// Cost `amount` as seen by a flow of this weight.
Nanos per_weight(Nanos amount, std::uint32_t weight) noexcept;

// K_f now.
Nanos flow_key(const Tables& t, std::uint32_t flow) noexcept;

// V of `level` now, without moving it.
Nanos clock_now(const Tables& t, const Level& level) noexcept;

// max(0, K_f − V) now; an idle flow's debt halves with each third of debt_ttl and is gone after all of it.
Nanos flow_debt(const Tables& t, std::uint32_t flow) noexcept;

// What a flow that waits while others have the slots may be behind the clock: more is forgotten, lest it shut out everybody who
// arrives later (at the clock) until it has caught up.
inline constexpr Nanos kMaxCredit = 5 * kSecond;

// Moves the clock of `level` to the current time and not behind the least key among its waiting flows; returns the flow of least
// key among those that are `eligible`, of equal ones the one that began to wait first, or kNone. Looks at each waiting flow.
template <class Eligible>
std::uint32_t lift(Tables& t, std::uint32_t level, Eligible eligible) noexcept;
void lift(Tables& t, std::uint32_t level) noexcept;

// To be called before a request joins a flow that has none waiting. Forgets what an idle flow is forgiven, then
// settled := max(settled, V − burst − A ÷ weight): the flow keeps at most one burst of credit, whatever it left unused (anti-windup).
void arrive(Tables& t, std::uint32_t flow) noexcept;

// Puts the settled cost of `flow` on the scale of another level: the debt it has stays.
void rebase(Tables& t, std::uint32_t flow, std::uint32_t level) noexcept;

// What a second of slot time costs (ρ), 0 to 1, and its update by a request that held a slot for `held` and cost `cost`.
double cost_rate(const Tables& t) noexcept;
void learn_rate(Tables& t, Nanos held, Nanos cost) noexcept;

// A request that began when the level's per_slot was `mark` held its slot for `held` and cost `cost`.
void correct_clock(const Tables& t, Level& level, Nanos mark, Nanos held, Nanos cost) noexcept;

// Bookkeeping of a flow's requests (`waiting`, `running`: +1, 0 or −1); moves the clock and keeps the active weights.
void count(Tables& t, std::uint32_t flow, int waiting, int running) noexcept;

// Gives an active or idle flow another weight.
void reweigh(Tables& t, std::uint32_t flow, std::uint32_t weight) noexcept;

// min(most, √members), the weight of a bucket.
std::uint32_t crowd_weight(std::uint32_t members, std::uint32_t most) noexcept;

template <class Eligible>
std::uint32_t lift(Tables& t, std::uint32_t index, Eligible eligible) noexcept {
  Level& level = t.levels[index];
  advance(t, level);
  std::uint32_t best = kNone;
  Nanos best_key = 0;
  Nanos least = kNever;
  const Nanos floor = level.clock - kMaxCredit;
  for (std::uint32_t f = level.waiting.first; f != kNone; f = t.flows[f].sibling.next) {
    Nanos key = flow_key(t, f);
    if (key < floor) {
      t.flows[f].settled += floor - key;
      key = floor;
    }
    if (least == kNever || key < least) least = key;
    if ((best == kNone || key < best_key) && eligible(f)) {
      best = f;
      best_key = key;
    }
  }
  level.clock = std::max(level.clock, least);
  return best;
}

}  // namespace fairway::queue
