#include "core/queue_clock.h"

#include <algorithm>
#include <cmath>

namespace fairway::queue {
namespace {

// How much the rate forgets with each request.
constexpr double kRateMemory = 63.0 / 64;

Nanos scaled(Nanos amount, double factor) noexcept {
  return factor == 1 ? amount : static_cast<Nanos>(static_cast<double>(amount) * factor);
}

// What the running requests of `flow` have reserved or accrued.
Nanos reserved(const Tables& t, std::uint32_t flow) noexcept {
  const Flow& f = t.flows[flow];
  const bool outer = f.level == kRootLevel;
  const double rate = cost_rate(t);
  Nanos sum = 0;
  for (std::uint32_t i = f.running.first; i != kNone;) {
    const Request& r = t.requests[i];
    sum += std::max(r.estimate, scaled(t.now() - r.started, rate));
    i = outer ? r.outer_link.next : r.inner_link.next;
  }
  return sum;
}

// What is left of an idle flow's debt.
Nanos forgiven(const Tables& t, const Flow& f, Nanos debt) noexcept {
  if (debt <= 0 || f.waiting_count + f.running_count != 0) return debt;
  const Nanos idle = t.now() - f.idle_since;
  const Nanos step = std::max<Nanos>(t.limits().debt_ttl / 3, 1);
  if (idle < step) return debt;
  if (idle >= 3 * step) return 0;
  return std::min(debt >> (idle / step), t.limits().max_debt);
}

// How far ∫ dt ÷ weights is from where it stands to the present.
double pending(const Tables& t, const Level& level) noexcept {
  const Nanos elapsed = t.now() - level.at;
  return elapsed <= 0 || level.weights == 0 ? 0 : static_cast<double>(elapsed) * kWeightOne / level.weights;
}

}  // namespace

void advance(Tables& t, Level& level) noexcept {
  if (level.at == t.now()) return;
  const double per_slot = pending(t, level);
  level.at = t.now();
  level.per_slot += static_cast<Nanos>(per_slot);
  level.clock += static_cast<Nanos>(per_slot * level.running * cost_rate(t));
}

Nanos clock_now(const Tables& t, const Level& level) noexcept {
  return level.clock + static_cast<Nanos>(pending(t, level) * level.running * cost_rate(t));
}

Nanos per_weight(Nanos amount, std::uint32_t weight) noexcept {
  if (weight == kWeightOne) return amount;
  return static_cast<Nanos>(static_cast<double>(amount) * kWeightOne / weight);
}

Nanos flow_key(const Tables& t, std::uint32_t flow) noexcept {
  const Flow& f = t.flows[flow];
  return f.running_count == 0 ? f.settled : f.settled + per_weight(reserved(t, flow), f.weight);
}

Nanos flow_debt(const Tables& t, std::uint32_t flow) noexcept {
  const Flow& f = t.flows[flow];
  return std::max<Nanos>(0, forgiven(t, f, flow_key(t, flow) - clock_now(t, t.levels[f.level])));
}

void lift(Tables& t, std::uint32_t level) noexcept {
  lift(t, level, [](std::uint32_t) { return false; });
}

void arrive(Tables& t, std::uint32_t flow) noexcept {
  Flow& f = t.flows[flow];
  if (f.waiting_count != 0) return;
  lift(t, f.level);
  const Nanos clock = t.levels[f.level].clock;
  f.settled = std::min(f.settled, clock + forgiven(t, f, f.settled - clock));
  if (f.settled >= clock - t.limits().burst) return;  // whatever runs: it is not worth a look at each request
  const Nanos running = f.running_count == 0 ? 0 : per_weight(reserved(t, flow), f.weight);
  f.settled = std::max(f.settled, clock - t.limits().burst - running);
}

void rebase(Tables& t, std::uint32_t flow, std::uint32_t level) noexcept {
  Flow& f = t.flows[flow];
  lift(t, f.level);
  lift(t, level);
  f.settled += t.levels[level].clock - t.levels[f.level].clock;
  f.level = level;
}

double cost_rate(const Tables& t) noexcept {
  return t.heart().paid / t.heart().held;
}

void learn_rate(Tables& t, Nanos held, Nanos cost) noexcept {
  if (held <= 0) return;
  t.heart().held = t.heart().held * kRateMemory + static_cast<double>(held);
  t.heart().paid = t.heart().paid * kRateMemory + static_cast<double>(std::min(cost, held));
}

void correct_clock(const Tables& t, Level& level, Nanos mark, Nanos held, Nanos cost) noexcept {
  if (held <= 0) return;
  const double over = static_cast<double>(cost) / static_cast<double>(held) - cost_rate(t);
  if (over != 0) level.clock += static_cast<Nanos>(static_cast<double>(level.per_slot - mark) * over);
}

void count(Tables& t, std::uint32_t flow, int waiting, int running) noexcept {
  Flow& f = t.flows[flow];
  Level& level = t.levels[f.level];
  advance(t, level);
  const bool was_active = f.waiting_count + f.running_count != 0;
  f.waiting_count += static_cast<std::uint32_t>(waiting);
  f.running_count += static_cast<std::uint32_t>(running);
  level.running += static_cast<std::uint32_t>(running);
  const bool active = f.waiting_count + f.running_count != 0;
  if (was_active == active) return;
  level.weights = active ? level.weights + f.weight : level.weights - f.weight;
  level.active = active ? level.active + 1 : level.active - 1;
  if (!active) f.idle_since = t.now();
}

void reweigh(Tables& t, std::uint32_t flow, std::uint32_t weight) noexcept {
  Flow& f = t.flows[flow];
  if (f.weight == weight) return;
  Level& level = t.levels[f.level];
  advance(t, level);
  if (f.waiting_count + f.running_count != 0) level.weights += weight - f.weight;
  f.weight = weight;
}

std::uint32_t crowd_weight(std::uint32_t members, std::uint32_t most) noexcept {
  if (members < 2) return kWeightOne;
  const double root = std::sqrt(static_cast<double>(members));
  return std::min(most * kWeightOne, static_cast<std::uint32_t>(std::lround(root * kWeightOne)));
}

}  // namespace fairway::queue
