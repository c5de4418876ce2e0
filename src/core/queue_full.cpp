#include "core/queue_full.h"

#include <algorithm>

#include "core/cost_estimates.h"
#include "core/queue_clock.h"

namespace fairway::queue {
namespace {

constexpr Nanos kLongestRetry = 30 * kSecond;

struct Longest {
  std::uint32_t flow = kNone;
  double length = 0;
};

double length(const Flow& flow, std::uint32_t more) noexcept {
  return static_cast<double>(flow.waiting_count + more) * kWeightOne / flow.weight;
}

// What `flow` would be if one more of its requests waited; a flow that has no record yet weighs 1.
double length_with_arrival(const Tables& t, std::uint32_t flow) noexcept {
  return flow == kNone ? length(Flow{}, 1) : length(t.flows[flow], 1);
}

// Among the waiting flows of `level` but `except`.
Longest longest(const Tables& t, std::uint32_t level, std::uint32_t except) noexcept {
  Longest best;
  for (std::uint32_t f = t.levels[level].waiting.first; f != kNone; f = t.flows[f].sibling.next) {
    const double l = length(t.flows[f], 0);
    if (f != except && l > best.length) best = {f, l};
  }
  return best;
}

std::uint32_t newest(const Tables& t, std::uint32_t inner) noexcept {
  return t.flows[inner].waiting.last;
}

// A cheap generator is enough to spread arrivals (splitmix64, public domain).
std::uint64_t next_random(Tables& t) noexcept {
  std::uint64_t z = (t.head->random += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

std::uint32_t victim_for(const Tables& t, const Client& client) noexcept {
  const double own = length_with_arrival(t, client.outer);
  const double own_inner = length_with_arrival(t, client.inner);
  const Longest other = longest(t, kRootLevel, client.outer);
  if (other.flow != kNone && other.length >= own) {
    const Longest inner = longest(t, t.inside(other.flow), kNone);
    if (other.length > own || inner.length > own_inner) return newest(t, inner.flow);
  }
  if (client.outer == kNone) return kNone;
  const Longest inner = longest(t, t.inside(client.outer), client.inner);
  return inner.length > own_inner ? newest(t, inner.flow) : kNone;
}

std::uint32_t book_retry(Tables& t, const Client& client, std::uint64_t cost_class) noexcept {
  const bool has_flow = client.outer != kNone;
  const Flow flow = has_flow ? t.flows[client.outer] : Flow{};
  const bool active = flow.waiting_count + flow.running_count != 0;
  const double weights = t.levels[kRootLevel].weights + (active ? 0 : flow.weight);
  const double slots = static_cast<double>(t.limits().concurrency) * kWeightOne;

  const Nanos one = per_weight(estimate(t, client.network, client.session, cost_class), flow.weight);
  const Nanos debt = has_flow ? flow_debt(t, client.outer) : 0;
  const auto in_real_time = [&](Nanos cost) { return static_cast<Nanos>(static_cast<double>(cost) * weights / slots); };
  const Nanos wait = in_real_time(debt + one * (flow.waiting_count + 1));

  Nanos& booked = !has_flow || client.outer == kRootBucket ? t.heart().booked : t.networks[client.network].booked;
  const Nanos moment = std::min(std::max(t.now() + wait, booked), t.now() + kLongestRetry);
  booked = moment + in_real_time(one);
  const auto seconds = static_cast<std::uint32_t>(std::max<Nanos>(1, (moment - t.now() + kSecond - 1) / kSecond));
  return seconds + static_cast<std::uint32_t>(next_random(t) % ((seconds + 1) / 2 + 1));
}

}  // namespace fairway::queue
