// The light lane: order alone cannot help a short request when long ones hold every slot, so r of the C slots are kept from
// everybody but *light* requests while such requests are about.
//
// - Light is a request whose key has nothing running, held at most 0.5 slot lately (half-life 2 s), and whose own requests took at
//   most 250 ms (maximum, half-life 30 s). What a key costs is learned from its first request on, also while a bucket pays for it.
// - Unproven networks count as one key for this, and so do the unproven keys of a network together with those that finished fewer
//   than three requests: making keys gains at most one place. For such a group the average request must be at most 250 ms.
// - All other requests hold at most C − r slots. A light one that runs over 250 ms counts as other from then on. So does, from its
//   start, one of a key that never ended a request: it may start in the lane, but a hog must not get C slots by having its first
//   request counted beside C − r others. For the same reason a key's light request counts as other as soon as it gets a second slot.
// - The lane opens to everybody when no light request arrived for 10 s; to a key that has the queue to itself when none of
//   another key did.
#pragma once

#include "core/queue_state.h"

namespace fairway::queue {

inline constexpr Nanos kLightSize = 250 * kMillisecond;
inline constexpr Nanos kSizeHalfLife = 30 * kSecond;
inline constexpr float kLightUse = 0.5F;
inline constexpr Nanos kUseHalfLife = 2 * kSecond;
inline constexpr Nanos kLaneHold = 10 * kSecond;
inline constexpr std::uint32_t kYoungFinished = 3;

// Whose request it is: records may be kNone when there are none yet, `outer` is the flow that pays.
struct Payer {
  std::uint32_t network = kNone;
  std::uint32_t session = kNone;
  std::uint32_t outer = kNone;
};

bool is_light(const Tables& t, const Payer& payer) noexcept;

// Whether a request may take one of the free slots (there is one). `arriving`: how many requests of its session are counted in the
// session's record but neither wait nor run yet.
bool lane_admits(const Tables& t, const Payer& payer, std::uint32_t arriving = 0) noexcept;

// A light request of `key` arrived (and was not refused).
void note_light_arrival(Tables& t, std::uint64_t key) noexcept;

// A request starts, and ends after holding its slot for `held`; `learn` says whether that is to be remembered.
void lane_start(Tables& t, std::uint32_t index) noexcept;
void lane_stop(Tables& t, std::uint32_t index, Nanos held, bool learn) noexcept;

// Light requests that have run over count as others.
void lane_expire(Tables& t) noexcept;

}  // namespace fairway::queue
