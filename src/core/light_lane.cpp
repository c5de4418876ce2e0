#include "core/light_lane.h"

#include <algorithm>
#include <cmath>

#include "core/cost_estimates.h"

namespace fairway::queue {
namespace {

// Brings the decaying values of a meter up to the present; a group's size does not decay.
void settle(Meter& meter, Nanos now, bool is_key) noexcept {
  const Nanos elapsed = now - meter.at;
  if (elapsed <= 0) return;
  meter.at = now;
  const float kept = kept_after(elapsed, kUseHalfLife);
  meter.use = meter.use * kept + static_cast<float>(meter.running) * (1 - kept);
  if (is_key) meter.size = decayed(meter.size, elapsed, kSizeHalfLife);
}

// How long a value that halves with each `half_life` takes down to a share of it.
Nanos time_down(float times, Nanos half_life) noexcept {
  return times <= 1 ? 0 : static_cast<Nanos>(static_cast<float>(half_life) * std::log2(times));
}

void start(Meter& meter, Nanos now, bool is_key) noexcept {
  settle(meter, now, is_key);
  ++meter.running;
}

void stop(Meter& meter, Nanos now, bool is_key) noexcept {
  settle(meter, now, is_key);
  --meter.running;
}

void stop_key(Meter& meter, Nanos now, Nanos held, bool learn) noexcept {
  stop(meter, now, true);
  if (learn) meter.size = std::max(meter.size, held);
  const Nanos small = time_down(static_cast<float>(meter.size) / static_cast<float>(kLightSize), kSizeHalfLife);
  meter.light_at = now + std::max(small, time_down(meter.use / kLightUse, kUseHalfLife));
}

void stop_group(Meter& meter, Nanos now, Nanos held, bool learn) noexcept {
  stop(meter, now, false);
  if (learn) meter.size = meter.size == 0 ? held : averaged(meter.size, held);
  meter.light_at = now + time_down(meter.use / kLightUse, kUseHalfLife);
}

bool light_key(const Meter& meter, Nanos now) noexcept {
  return meter.running == 0 && now >= meter.light_at;
}
bool light_group(const Meter& meter, Nanos now) noexcept {
  return light_key(meter, now) && meter.size <= kLightSize;
}

bool is_young(const Tables& t, std::uint32_t session) noexcept {
  return session == kNone || !t.sessions[session].proven || t.sessions[session].finished < kYoungFinished;
}

// Whether it is known how long the requests of a session take.
bool has_size(const Tables& t, std::uint32_t session) noexcept {
  return session != kNone && t.sessions[session].own.size != 0;
}

// Slots that are kept for light requests.
std::uint32_t lane_size(const Tables& t) noexcept {
  return t.limits().order == Order::fifo ? 0 : std::min(t.limits().light_lane, t.limits().concurrency - 1);
}

std::uint32_t light_of(const Tables& t, std::uint32_t session) noexcept {
  return session == kNone ? kNone : t.sessions[session].light;
}

// Whether one more request of any kind leaves the lane free.
bool others_fit(const Tables& t) noexcept {
  const std::uint32_t kept = lane_size(t);
  return kept == 0 || t.heart().lane.others < t.limits().concurrency - kept;
}

// A light request counts as other from now on.
void turn_other(Tables& t, std::uint32_t index) noexcept {
  Request& r = t.requests[index];
  Lane& lane = t.heart().lane;
  remove<&Request::light_link>(t.requests, lane.light, index);
  r.light = false;
  ++lane.others;
  if (light_of(t, r.session) == index) t.sessions[r.session].light = kNone;
}

// Whether nothing waits or runs but requests of this session.
bool is_alone(const Tables& t, std::uint32_t session, std::uint32_t arriving) noexcept {
  if (session == kNone) return false;
  return t.sessions[session].requests - arriving == t.heart().waiting_count + t.levels[kRootLevel].running;
}

}  // namespace

bool is_light(const Tables& t, const Payer& payer) noexcept {
  const Nanos now = t.now();
  if (payer.session != kNone && !light_key(t.sessions[payer.session].own, now)) return false;
  if (payer.outer == kRootBucket) return light_group(t.heart().lane.bucket, now);
  if (!is_young(t, payer.session)) return true;
  return payer.network == kNone || light_group(t.networks[payer.network].young, now);
}

bool lane_admits(const Tables& t, const Payer& payer, std::uint32_t arriving) noexcept {
  if (others_fit(t) || is_light(t, payer)) return true;
  const Lane& lane = t.heart().lane;
  const bool by_itself = is_alone(t, payer.session, arriving) && lane.last_key == t.sessions[payer.session].digest;
  return t.now() - (by_itself ? lane.last_by_another : lane.last) >= kLaneHold;
}

void note_light_arrival(Tables& t, std::uint64_t key) noexcept {
  Lane& lane = t.heart().lane;
  if (lane.last_key != key) {
    lane.last_by_another = lane.last;
    lane.last_key = key;
  }
  lane.last = t.now();
}

void lane_start(Tables& t, std::uint32_t index) noexcept {
  Request& r = t.requests[index];
  Lane& lane = t.heart().lane;
  const bool at_first_start = r.started == t.now();  // not when it is registered again
  r.light = at_first_start && has_size(t, r.session) && is_light(t, {r.network, r.session, r.outer});
  r.counts_young = is_young(t, r.session);
  r.counts_bucket = r.outer == kRootBucket;
  if (r.light) {
    push_back<&Request::light_link>(t.requests, lane.light, index);
    t.sessions[r.session].light = index;
  } else {
    ++lane.others;
    if (const std::uint32_t first = light_of(t, r.session); first != kNone) turn_other(t, first);
  }
  if (r.session != kNone) start(t.sessions[r.session].own, t.now(), true);
  if (r.counts_young) start(t.networks[r.network].young, t.now(), false);
  if (r.counts_bucket) start(lane.bucket, t.now(), false);
}

void lane_stop(Tables& t, std::uint32_t index, Nanos held, bool learn) noexcept {
  Request& r = t.requests[index];
  Lane& lane = t.heart().lane;
  if (r.light) turn_other(t, index);
  --lane.others;
  if (r.session != kNone) stop_key(t.sessions[r.session].own, t.now(), held, learn);
  if (r.counts_young) stop_group(t.networks[r.network].young, t.now(), held, learn);
  if (r.counts_bucket) stop_group(lane.bucket, t.now(), held, learn);
}

void lane_expire(Tables& t) noexcept {
  Lane& lane = t.heart().lane;
  while (lane.light.first != kNone && t.now() - t.requests[lane.light.first].started > kLightSize) {
    turn_other(t, lane.light.first);
  }
}

}  // namespace fairway::queue
