// What must be true of a room before and after every call, said without the code of the room: the guarantees of the line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "room_visit.h"

namespace fairway::room::test {

inline std::uint64_t id_of(const Sid& sid) noexcept {
  std::uint64_t n = 0;
  for (std::size_t i = 8; i < 16; ++i) n = n << 8 | sid.bytes[i];
  return n;
}

struct Seen {
  std::uint64_t id = 0;
  Place place = Place::waiting;
  bool claimed = false;
  std::uint64_t number = 0;
  std::int64_t when = 0;
  Micros admitted = 0;
  Micros lost_since = 0;
};

// One call as it happened.
struct Call {
  const Settings& settings;
  const Memory& memory;
  std::span<const Operation> operations;
  std::span<const Answer> answers;
  const Summary& summary;
  bool cut = false;    // a cut is at work: sessions may end without a word
  bool tight = false;  // the block is so small that memory may run out
};

class Oracle {
 public:
  void look_before(const RoomState& state) { before_ = look(state); }
  // The first guarantee that does not hold, or "".
  std::string check(const RoomState& state, const Call& call);
  // The store lost writes and is now as it was after the call that answered `then`.
  void lost(const Summary& then) {
    admissions_.clear();
    limit_since_ = last_.now;
    keep_until_ = 0;
    cut_known_ = cut_known_ && then.epoch != 0;
    last_ = then;
    epoch_ = then.epoch;  // a store that lost everything may come to the same number again
  }

 private:
  static std::vector<Seen> look(const RoomState& state) {
    std::vector<Seen> seen;
    for (const Record& r : state.table().get<ByNumberTag>()) {
      const std::int64_t when = r.place == Place::waiting ? r.stamp : r.when;
      seen.push_back(Seen{id_of(r.sid), r.place, r.claimed, r.number, when, r.stamp, r.lost_since});
    }
    std::sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) { return a.id < b.id; });
    return seen;
  }
  static const Seen* find(const std::vector<Seen>& all, std::uint64_t id) {
    const auto it = std::lower_bound(all.begin(), all.end(), id, [](const Seen& s, std::uint64_t n) { return s.id < n; });
    return it != all.end() && it->id == id ? &*it : nullptr;
  }
  void follow_epoch(const Call& call);
  void note_admissions(const Call& call);
  std::string check_counts(const Call& call) const;
  std::string check_capacity(const Call& call) const;
  std::string check_rate(const Call& call) const;
  std::string check_order(const Call& call) const;
  std::string check_presence(const Call& call) const;
  std::string check_answers(const Call& call) const;
  std::string check_progress(const Call& call) const;
  bool had_to_go(const Call& call, const Operation& op) const;
  bool ended_by_caller(const Call& call, std::uint64_t id) const;
  bool newly_admitted(const Seen& s, const Call& call) const;
  std::uint64_t reserved(const Call& call) const {
    return call.summary.now < reserve_until_ && remembered_ > back_ ? remembered_ - back_ : 0;
  }

  std::vector<Seen> before_, after_;
  Summary last_;
  std::uint64_t admitted_now_ = 0;  // admissions of this call
  std::deque<Micros> admissions_;
  std::uint32_t limit_ = 0;
  Micros window_ = 0;
  Micros limit_since_ = 0;
  std::uint64_t epoch_ = 0;
  bool somebody_waited_ = false;
  std::uint64_t remembered_ = 0, back_ = 0;
  Micros reserve_until_ = 0, keep_until_ = 0;
  bool was_recovering_ = false;
  bool cut_known_ = false;  // tickets may be refused because of it
};

inline std::string Oracle::check(const RoomState& state, const Call& call) {
  after_ = look(state);
  cut_known_ = cut_known_ || call.cut;
  follow_epoch(call);
  if (call.cut) reserve_until_ = 0;  // the world cuts everybody
  note_admissions(call);
  std::string wrong;
  if (const char* broken = state.inconsistency(); broken != nullptr) wrong = broken;
  if (wrong.empty()) wrong = check_counts(call);
  if (wrong.empty()) wrong = check_capacity(call);
  if (wrong.empty()) wrong = check_rate(call);
  if (wrong.empty()) wrong = check_order(call);
  if (wrong.empty()) wrong = check_presence(call);
  if (wrong.empty()) wrong = check_answers(call);
  if (wrong.empty()) wrong = check_progress(call);
  last_ = call.summary;
  was_recovering_ = call.summary.recovering;
  return wrong;
}

inline void Oracle::follow_epoch(const Call& call) {
  if (call.memory.outage_ended) keep_until_ = std::max(keep_until_, call.summary.now + recovery_window(call.settings));
  const bool opened = call.summary.epoch != epoch_;
  if (opened) {
    epoch_ = call.summary.epoch;
    somebody_waited_ = false;
    remembered_ = 0;
    back_ =
        static_cast<std::uint64_t>(std::count_if(before_.begin(), before_.end(), [](const Seen& s) { return s.place == Place::inside; }));
    reserve_until_ = 0;
  }
  if (call.summary.recovering && (opened || !was_recovering_)) reserve_until_ = call.summary.now + call.settings.session_timeout;
  if (call.memory.epoch != 0 && call.memory.epoch < epoch_) {
    somebody_waited_ = somebody_waited_ || call.memory.waiting > 0;
    remembered_ = std::max<std::uint64_t>(remembered_, call.memory.inside);
  }
  for (std::size_t i = 0; i < call.operations.size(); ++i) {
    const Operation& op = call.operations[i];
    const Seen* old = find(before_, id_of(op.sid));
    const bool was_inside = old != nullptr && old->place == Place::inside;
    // Gone: taken over, and then its session_max was over or it was released.
    const bool came = call.answers[i].state == State::admitted || call.answers[i].state == State::gone;
    back_ += op.kind == Kind::heartbeat && op.has_claim() && op.epoch < epoch_ && !was_inside && came;
    // A pass of an earlier epoch that is given back without having been taken over was counted among those inside, too.
    const bool first = std::none_of(call.operations.begin(), call.operations.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&op](const Operation& earlier) { return earlier.sid == op.sid; });
    back_ += op.kind == Kind::release && op.has_claim() && op.admitted != 0 && op.epoch < epoch_ && old == nullptr && first &&
             call.answers[i].state == State::released;
  }
}

inline void Oracle::note_admissions(const Call& call) {
  if (call.settings.rate != limit_ || call.settings.rate_window != window_) {
    limit_ = call.settings.rate;
    window_ = call.settings.rate_window;
    limit_since_ = call.summary.now;
    admissions_.clear();
  }
  admitted_now_ = call.summary.admitted_total - last_.admitted_total;
  for (std::uint64_t i = 0; i < admitted_now_; ++i) admissions_.push_back(call.summary.now);
  while (!admissions_.empty() && admissions_.front() <= call.summary.now - window_) admissions_.pop_front();
}

inline std::string Oracle::check_counts(const Call& call) const {
  std::uint32_t waiting = 0, inside = 0, granted = 0;
  for (const Seen& s : after_) {
    waiting += s.place == Place::waiting;
    inside += s.place == Place::inside;
    granted += s.place == Place::inside && !s.claimed;
  }
  const Summary& sum = call.summary;
  if (waiting != sum.waiting || inside != sum.inside || granted != sum.granted) return "the counts told are not the counts of the room";
  if (sum.reserved < reserved(call)) return "the reserve told is less than what has to be kept";
  std::uint64_t dropped = 0, entered = 0;
  for (const Seen& s : after_) {
    const Seen* old = find(before_, s.id);
    dropped += s.place == Place::lost && old != nullptr && old->place == Place::waiting;
    entered += newly_admitted(s, call);
  }
  if (sum.abandoned_total - last_.abandoned_total < dropped) return "dropped waiters were not counted";
  if (admitted_now_ < entered) return "admissions were not counted";
  if (dropped > 2 * kWorkPerStep) return "more was done in a call than a call may do";
  return "";
}

inline bool Oracle::newly_admitted(const Seen& s, const Call& call) const {
  if (s.place != Place::inside || s.admitted != call.summary.now) return false;
  const Seen* old = find(before_, s.id);
  if (old != nullptr && old->place == Place::inside) return false;
  return std::none_of(call.operations.begin(), call.operations.end(),
                      [&s](const Operation& op) { return op.kind == Kind::heartbeat && id_of(op.sid) == s.id; });
}

inline std::string Oracle::check_capacity(const Call& call) const {
  if (admitted_now_ == 0 || call.settings.mode == Mode::open) return "";
  if (call.settings.mode != Mode::normal) return "somebody was admitted though the mode forbids it";
  if (call.summary.inside + call.summary.reserved > call.settings.capacity) return "somebody was admitted above capacity less the reserve";
  return "";
}

inline std::string Oracle::check_rate(const Call& call) const {
  if (admitted_now_ == 0 || call.settings.mode == Mode::open || window_ == 0) return "";
  if (admissions_.size() > limit_) return "a window admitted more than the rate";
  return "";
}

inline std::string Oracle::check_order(const Call& call) const {
  if (call.settings.mode == Mode::open || admitted_now_ == 0) return "";
  std::uint64_t highest = 0;
  for (const Seen& s : after_) {
    if (newly_admitted(s, call)) highest = std::max(highest, s.number);
  }
  for (const Seen& s : after_) {
    if (s.place == Place::waiting && s.number < highest) return "somebody was admitted before a waiter with a lower number";
  }
  for (const Seen& s : after_) {
    const Seen* old = find(before_, s.id);
    const bool promoted = newly_admitted(s, call) && old != nullptr && old->place == Place::waiting;
    if (promoted && call.summary.recovering) return "somebody was promoted during recovery";
  }
  for (std::size_t i = 0; i < call.operations.size(); ++i) {
    const bool direct = call.answers[i].created && call.answers[i].state == State::admitted && call.operations[i].kind != Kind::heartbeat;
    if (direct && call.summary.recovering && somebody_waited_) return "a newcomer entered during recovery though somebody was waiting";
  }
  return "";
}

inline bool Oracle::ended_by_caller(const Call& call, std::uint64_t id) const {
  return std::any_of(call.operations.begin(), call.operations.end(),
                     [id](const Operation& op) { return (op.kind == Kind::release || op.kind == Kind::evict) && id_of(op.sid) == id; });
}

// Gone is who was ended, lost too long ago, or is past the hard end of a session.
inline bool Oracle::had_to_go(const Call& call, const Operation& op) const {
  if (cut_known_ || ended_by_caller(call, id_of(op.sid))) return true;
  const Seen* old = find(before_, id_of(op.sid));
  const Micros now = call.summary.now;
  const Micros longest = call.settings.session_max;
  if (old == nullptr) return op.kind == Kind::heartbeat && longest > 0 && op.admitted + longest <= now;
  if (old->place == Place::ended) return true;
  if (old->place == Place::inside && longest > 0 && old->admitted + longest <= now) return true;
  return old->lost_since != 0 && now - old->lost_since > call.settings.return_grace;
}

// Nobody present loses a place, nobody inside a slot, and while the store holds on nobody loses anything.
inline std::string Oracle::check_presence(const Call& call) const {
  const Micros now = call.summary.now;
  const bool holding = call.summary.recovering || now < keep_until_;
  for (const Seen& old : before_) {
    const Seen* s = find(after_, old.id);
    const bool had = old.place == Place::waiting || old.place == Place::inside;
    if (!had || call.cut || ended_by_caller(call, old.id)) continue;
    const bool over = old.place == Place::inside && call.settings.session_max > 0 && old.admitted + call.settings.session_max <= now;
    if (over) continue;
    const bool live = old.place == Place::waiting ? old.when >= now : old.when > now;
    const bool has = s != nullptr && (s->place == Place::waiting || s->place == Place::inside);
    if ((live || holding) && !has) return "somebody present lost a place or a slot";
    if ((live || holding) && old.place == Place::inside && s->place != Place::inside) return "somebody inside was put in line";
    if (has && s->place == Place::waiting && old.place == Place::waiting && s->number != old.number && live)
      return "a waiter's number changed";
  }
  return "";
}

inline std::string Oracle::check_answers(const Call& call) const {
  for (std::size_t i = 0; i < call.operations.size(); ++i) {
    const Answer& answer = call.answers[i];
    const Seen* s = find(after_, id_of(call.operations[i].sid));
    const bool placed =
        answer.state == State::admitted || answer.state == State::waiting || (answer.state == State::closed && answer.number != 0);
    if (placed && (s == nullptr || s->number != answer.number || answer.epoch != call.summary.epoch))
      return "an answer names another place than the room";
    if (answer.state == State::admitted && (s->place != Place::inside || s->when != answer.expires || !s->claimed))
      return "admitted, but not inside";
    if (answer.state == State::admitted && answer.expires <= call.summary.now) return "admitted into a slot that is over";
    if (answer.state == State::gone && !had_to_go(call, call.operations[i])) return "somebody was sent away without a reason";
    if (answer.state == State::full && call.summary.waiting < call.settings.max_waiting) return "full, though there was room in the line";
    if (answer.state != State::waiting) continue;
    if (s->place != Place::waiting) return "told to wait, but not in line";
    const auto ahead =
        std::count_if(after_.begin(), after_.end(), [s](const Seen& o) { return o.place == Place::waiting && o.number < s->number; });
    const std::uint64_t rank = static_cast<std::uint64_t>(ahead) + 1;
    if (answer.rank != (call.summary.recovering ? 0 : rank)) return "a wrong rank";
    if (s->when < call.summary.now + 2 * answer.interval) return "due before twice the interval told";
  }
  return "";
}

// The line never stands still while there is room and rate.
inline std::string Oracle::check_progress(const Call& call) const {
  const Summary& sum = call.summary;
  const bool held = call.settings.mode != Mode::normal || sum.recovering || sum.more_work || call.tight || sum.now < reserve_until_;
  if (held || sum.waiting == 0 || sum.inside >= call.settings.capacity) return "";
  if (window_ != 0 && (admissions_.size() >= limit_ || limit_since_ + window_ > sum.now)) return "";
  return "the line stood still though there was room";
}

}  // namespace fairway::room::test
