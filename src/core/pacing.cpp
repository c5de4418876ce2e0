#include "core/pacing.h"

#include <algorithm>
#include <cmath>

namespace fairway {
namespace {

constexpr Micros kSecond = 1'000'000;
constexpr std::uint64_t kRanksPerMin = 50;

constexpr double kMemory = 60;      // s, of each of the two averages
constexpr double kMaxMemory = 300;  // s
constexpr double kEvents = 10;      // admissions that the memory shall hold
constexpr double kTrackingSignal = 0.9;
constexpr Micros kForget = 600 * kSecond;  // older experience says nothing
constexpr double kStandstill = 120;        // s
constexpr double kDueGaps = 5;             // mean gaps without an admission: chance 0.7 % at a steady random rate
constexpr double kLongest = 86'400;        // s

constexpr double kQuiet = 3;         // s between two clumps at least
constexpr double kShortestBeat = 5;  // s; a shorter one does not matter
constexpr std::uint32_t kBeats = 3;  // seen before one is believed
constexpr double kBeatShare = 0.4;   // of the newest in the averages
constexpr double kEven = 0.2;        // of a beat: how uneven it may be
constexpr double kMissed = 1.25;     // beats without a clump: there is none any more

// Share of the new value in an average with this memory; while the average is young all values count alike.
double share(double seconds, double memory, double age) noexcept {
  return std::max(1 - std::exp(-seconds / memory), seconds / age);
}

}  // namespace

Micros poll_interval(std::uint64_t rank, Micros min, Micros max) noexcept {
  if (min <= 0 || max <= min) return max;
  // From this rank on max is reached, so that the product below stays small.
  const std::uint64_t last = (static_cast<std::uint64_t>(max / min) + 1) * kRanksPerMin;
  if (rank >= last) return max;
  return std::clamp(min * static_cast<Micros>(rank) / static_cast<Micros>(kRanksPerMin), min, max);
}

std::uint32_t jittered_seconds(Micros interval, std::uint64_t random) noexcept {
  const double unit = static_cast<double>(random >> 11) * 0x1p-53;  // [0, 1)
  const double seconds = static_cast<double>(interval) / kSecond * (0.9 + 0.2 * unit);
  return static_cast<std::uint32_t>(std::clamp(std::round(seconds), 1.0, 4294967295.0));
}

void RateEstimator::sample(Micros now, std::uint64_t admitted_total, std::uint64_t abandoned_total, std::uint32_t people) noexcept {
  if (last == 0 || now < last || admitted_total < admitted || abandoned_total < abandoned || now - busy > kForget) {
    *this = {};
    busy = now;
  } else if (now - last < kSecond) {
    return;
  } else if (people != 0 && waiting != 0) {
    average(static_cast<double>(now - last) / kSecond, static_cast<double>(admitted_total - admitted),
            static_cast<double>(abandoned_total - abandoned));
    busy = now;
  }
  if (people == 0 || waiting == 0) beat.at = 0;
  last = now;
  admitted = admitted_total;
  abandoned = abandoned_total;
  waiting = people;
}

void RateEstimator::average(double seconds, double admissions, double leavers) noexcept {
  age += seconds;
  if (admissions > 0) beat.note(last + static_cast<Micros>(seconds * kSecond), still, admissions);
  still = admissions > 0 ? 0 : still + seconds;
  const double slow = per_second();
  memory = slow > 0 ? std::clamp(kEvents / slow, kMemory, kMaxMemory) : kMemory;
  const double rate = admissions / seconds;
  const double part = 1 - std::exp(-seconds / memory);
  first += (rate - first) * part;
  first_weight += (1 - first_weight) * part;
  second += (first - second) * part;
  second_weight += (first_weight - second_weight) * part;
  fast += (rate - fast) * share(seconds, memory / 3, age);
  left += (leavers / seconds - left) * share(seconds, memory, age);
  follow_change(seconds);
  if (admissions > 0) last_rate = per_second();
}

void RateEstimator::follow_change(double seconds) noexcept {
  const double part = share(seconds, memory * 0.75, age);
  const double distance = fast - per_second();
  drift += (distance - drift) * part;
  spread += (std::abs(distance) - spread) * part;
  if (age <= memory || std::abs(drift) <= kTrackingSignal * spread) return;
  const double pull = 1 - std::exp(-seconds / (memory / 4));
  first += (fast * first_weight - first) * pull;
  second += (fast * second_weight - second) * pull;
}

// `quiet`: s without an admission before these.
void RateEstimator::Beat::note(Micros now, double quiet, double admissions) noexcept {
  const double since = static_cast<double>(now - at) / kSecond;
  if (at != 0 && quiet < kQuiet) {
    length = since;
    size += admissions;
    return;
  }
  if (at != 0) {
    const double part = std::max(kBeatShare, 1.0 / ++gaps);
    spread += (std::abs(since - gap) * (gaps > 1 ? 1 : 0) - spread) * part;
    gap += (since - gap) * part;
    mean_size += (size - mean_size) * part;
  }
  at = now;
  length = 0;
  size = admissions;
}

std::optional<double> RateEstimator::Beat::into(Micros now) const noexcept {
  const double since = static_cast<double>(now - at) / kSecond;
  const bool even = gaps >= kBeats && gap >= kShortestBeat && spread <= kEven * gap && length <= gap / 4;
  return at != 0 && even && since <= kMissed * gap ? std::optional(since) : std::nullopt;
}

double RateEstimator::per_second() const noexcept {
  return second_weight > 0 ? second / second_weight : 0;
}

std::optional<std::uint32_t> RateEstimator::wait(std::uint64_t rank, double rate_limit) const noexcept {
  double rate = per_second();
  if (rank == 0 || rate <= 0 || (still > kStandstill && still * last_rate > kDueGaps)) return std::nullopt;
  const std::optional<double> into = beat.into(last);
  if (into) rate = beat.mean_size / beat.gap;
  if (rate_limit > 0) rate = std::min(rate, rate_limit);
  const auto ahead = static_cast<double>(rank);
  const double line = waiting == kUnknown ? ahead : std::max(ahead, static_cast<double>(waiting));
  const double leaving = left / line;  // chance per second that a waiter gives up
  double seconds = leaving > 0 ? std::log1p(leaving * ahead / rate) / leaving : ahead / rate;
  if (into) seconds = std::max(std::ceil(seconds / beat.gap) * beat.gap - *into, 0.0);
  if (!(seconds <= kLongest)) return std::nullopt;
  return static_cast<std::uint32_t>(std::max(std::round(seconds), 1.0));
}

}  // namespace fairway
