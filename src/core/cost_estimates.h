// What a request is expected to cost: its flow's moving average, and the decaying maximum of its location, which all flows share
// so that a key with a cheap past cannot reserve little for a dear request.
#pragma once

#include "core/queue_state.h"

namespace fairway::queue {

inline constexpr Nanos kLeastEstimate = kMillisecond;
inline constexpr Nanos kMostEstimate = kSecond;
inline constexpr Nanos kClassHalfLife = 10 * kSecond;

// One step of the moving average with weight 1/4.
constexpr Nanos averaged(Nanos average, Nanos value) noexcept {
  return average + (value - average) / 4;
}

// What is left of a decaying value after `elapsed` ns.
Nanos decayed(Nanos value, Nanos elapsed, Nanos half_life) noexcept;

// clamp(max(own average, maximum of the class), 1 ms, 1 s); own = the session's, or the network's while the session has none.
// Either may be kNone.
Nanos estimate(const Tables& t, std::uint32_t network, std::uint32_t session, std::uint64_t cost_class) noexcept;

// Learns what a finished request has cost. The first cost becomes the average.
void learn_cost(Tables& t, const Request& request, Nanos cost) noexcept;

}  // namespace fairway::queue
