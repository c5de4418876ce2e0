#include "core/room_state.h"

#include <algorithm>
#include <limits>

namespace fairway::room {

namespace {

// More buckets than this part of the arena would starve the records.
constexpr std::size_t kBucketShare = 16;
// Records that a growing hash table moves at most: under a millisecond.
constexpr std::size_t kMostMoved = 16'384;

}  // namespace

RoomState::RoomState(Arena& arena) : table_(ArenaAllocator<Record>(arena)), recent_(arena) {
  table_.get<BySid>().max_load_factor(std::numeric_limits<float>::max());  // grow_table() sees to it
}

// The hash table of a quiet room is small. It grows with the room while that is cheap, and then once to what the settings may need:
// moving a million records would stop every visitor for that long. A room that is enlarged after that lives with longer chains.
void RoomState::grow_table(const Settings& settings) noexcept {
  auto& by_sid = table_.get<BySid>();
  if (table_.size() <= by_sid.bucket_count() || table_.size() > kMostMoved) return;
  const std::size_t next = 4 * table_.size();
  const std::size_t wanted =
      next <= kMostMoved / 2 ? next : std::max<std::size_t>(next, std::size_t{settings.capacity} + settings.max_waiting);
  const std::size_t affordable = table_.get_allocator().arena().free_bytes() / kBucketShare / sizeof(void*);
  for (std::size_t buckets = std::min(wanted, affordable); buckets > by_sid.bucket_count(); buckets /= 2) {
    try {
      by_sid.rehash(buckets);
      return;
    } catch (const std::bad_alloc&) {
    }
  }
}

Summary RoomState::call(Micros wall, const Settings& settings, const Memory& memory, std::span<const Operation> operations,
                        std::span<Answer> answers) noexcept {
  Step step = begin(wall, settings, memory, operations);
  for (std::size_t i = 0; i < operations.size(); ++i) note(operations[i], answers[i], step);
  promote(step);
  for (std::size_t i = 0; i < operations.size(); ++i) join(operations[i], answers[i], step);
  for (std::size_t i = 0; i < operations.size(); ++i) fill(operations[i], answers[i], step);
  return finish(step);
}

// Makes the clock steady, then recovery and what fell due: the part of a step before its callers are looked at.
RoomState::Step RoomState::begin(Micros wall, const Settings& settings, const Memory& memory,
                                 std::span<const Operation> operations) noexcept {
  if (wall + offset_ < clock_) offset_ = clock_ - wall;
  clock_ = wall + offset_;
  ++version_;
  grow_table(settings);
  Step step{settings, memory, operations, clock_};
  recover_if_due(step);
  if (memory.outage_ended) keep_until_ = std::max(keep_until_, clock_ + recovery_window(settings));
  sweep(step);
  sweep_cuts(step);
  return step;
}

Summary RoomState::finish(const Step& step) noexcept {
  Summary summary;
  summary.now = step.now;
  summary.epoch = epoch_;
  summary.version = version_;
  summary.last_number = last_number_;
  summary.inside = inside_;
  summary.granted = granted_;
  summary.reserved = reserved(step.now);
  summary.waiting = waiting_;
  summary.admitted_total = admitted_total_;
  summary.abandoned_total = abandoned_total_;
  summary.recovering = recovering(step.now);
  summary.more_work = step.more_work;
  return summary;
}

void RoomState::count(const Record& record, int by) noexcept {
  const auto change = static_cast<std::uint32_t>(by);  // unsigned wraps around: adding -1 takes one away
  if (record.place == Place::waiting) waiting_ += change;
  if (record.place == Place::inside) inside_ += change;
  if (record.place == Place::inside && !record.claimed) granted_ += change;
}

// Puts a record somewhere else, or under another time. Needs no memory.
void RoomState::put(It it, Place place, std::uint64_t number, std::int64_t when, Micros stamp, bool claimed) noexcept {
  count(*it, -1);
  table_.modify(it, [=](Record& record) {
    record.place = place;
    record.number = number;
    record.when = when;
    record.stamp = stamp;
    record.claimed = claimed;
  });
  count(*it, 1);
  idle_until_ = std::min(idle_until_, deadline(*it));
}

// When something has to happen with a record that is not heard of.
Micros RoomState::deadline(const Record& record) const noexcept {
  if (record.place == Place::waiting) return record.when + abandon_timeout_;
  return record.place == Place::inside ? record.when : record.stamp;
}

void RoomState::end(It it) noexcept {
  ++version_;
  put(it, Place::ended, version_, static_cast<std::int64_t>(version_), horizon_);
}

void RoomState::lose(It it, Micros now) noexcept {
  if (it->lost_since == 0) it->lost_since = now;
  put(it, Place::lost, static_cast<std::uint64_t>(now), horizon_, horizon_);
}

// Into the room: a caller has claimed its slot, anybody else holds a grant until it was due to ask, at least grant_timeout.
void RoomState::admit(It it, std::uint64_t number, bool claimed, const Step& step) noexcept {
  const Settings& settings = step.settings;
  Micros expiry = claimed ? step.now + settings.session_timeout : std::max(step.now + settings.grant_timeout, it->stamp);
  if (settings.session_max > 0) expiry = std::min(expiry, step.now + settings.session_max);
  put(it, Place::inside, number, expiry, step.now, claimed);
  ++admitted_total_;
  recent_.note(settings.rate, settings.rate_window, step.now);
}

// A new record; false when there is no memory for it.
bool RoomState::add(const Operation& operation, Place place, std::uint64_t number, std::int64_t when, Micros stamp) noexcept {
  Record record;
  record.sid = operation.sid;
  record.number = number;
  record.when = when;
  record.stamp = stamp;
  record.network = operation.network;
  record.place = place;
  try {
    table_.insert(record);
  } catch (const std::bad_alloc&) {
    return false;
  }
  count(record, 1);
  idle_until_ = std::min(idle_until_, deadline(record));
  return true;
}

std::uint32_t RoomState::reserved(Micros now) const noexcept {
  return now < reserve_until_ && remembered_ > back_ ? remembered_ - back_ : 0;
}

bool RoomState::may_admit(const Step& step) noexcept {
  const std::uint64_t taken = std::uint64_t{inside_} + reserved(step.now);
  return taken < step.settings.capacity && recent_.allows(step.settings.rate, step.settings.rate_window, step.now);
}

std::uint64_t RoomState::draw_number(Micros now) const noexcept {
  return std::max(static_cast<std::uint64_t>(std::max<Micros>(now, 0)), last_number_ + 1);
}

bool RoomState::dissolve() noexcept {
  constexpr int kAtOnce = 1000;
  auto& by_time = table_.get<ByTimeTag>();
  for (int i = 0; i < kAtOnce && !by_time.empty(); ++i) by_time.erase(by_time.begin());
  return table_.empty();
}

const char* RoomState::inconsistency() const {
  std::uint32_t waiting = 0, inside = 0, granted = 0;
  std::size_t seen = 0;
  for (const Record& record : table_.get<ByNumberTag>()) {
    waiting += record.place == Place::waiting;
    inside += record.place == Place::inside;
    granted += record.place == Place::inside && !record.claimed;
    if (record.called) return "a record is marked as called outside of a call";
    if (record.place == Place::waiting && record.number > last_number_) return "a number above the last";
    const auto found = table_.get<BySid>().find(record.sid);
    if (record.place == Place::waiting && record.stamp < record.when) return "a waiter is filed later than it is due";
    if (record.place != Place::inside && record.claimed) return "claimed, but not inside";
    if (deadline(record) < idle_until_) return "something falls due before it is looked for";
    if (found == table_.get<BySid>().end() || &*found != &record) return "a record is not found by its sid";
    ++seen;
  }
  const auto& by_time = table_.get<ByTimeTag>();
  if (!std::is_sorted(by_time.begin(), by_time.end(), ByTime{})) return "records out of order in time";
  if (seen != table_.size()) return "an index lost records";
  if (static_cast<std::size_t>(std::distance(by_time.begin(), by_time.end())) != seen) return "the index by time lost records";
  if (waiting != waiting_ || inside != inside_ || granted != granted_) return "counters are wrong";
  return nullptr;
}

}  // namespace fairway::room
