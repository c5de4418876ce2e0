// What becomes of the callers of one step: noted, promoted, let in or put in line, answered.
#include <algorithm>

#include "core/room_state.h"

namespace fairway::room {

namespace {

// Answers that later steps still turn into something else.
constexpr State kByRecord = State::waiting;  // whatever the session's record says in the end
constexpr State kNewcomer = State::unknown;

}  // namespace

void RoomState::note(const Operation& operation, Answer& answer, const Step& step) noexcept {
  answer = Answer{};
  auto it = table_.find(operation.sid);
  const bool known = it != table_.end();
  if (known && cut_hits(*it)) end(it);
  if (operation.kind == Kind::release || operation.kind == Kind::evict) {
    answer.state = release(operation, it);
    return;
  }
  if (known && operation.network.size != 0) it->network = operation.network;
  if (known && it->place == Place::ended) {
    answer.state = State::gone;
    return;
  }
  if (known && it->place == Place::inside) {
    const bool granted = !it->claimed;
    answer.state = extend(it, step);
    answer.came_in = granted && answer.state == kByRecord;
    return;
  }
  if (operation.kind == Kind::heartbeat) {
    if (const auto state = take_over(operation, it, step, answer.created)) {
      answer.state = *state;
      return;
    }
  }
  if (known && it->place == Place::lost && step.now - it->lost_since > step.settings.return_grace) {
    answer.state = State::gone;
    return;
  }
  const bool waits = known && it->place == Place::waiting;
  answer.state = waits ? kByRecord : operation.has_claim() ? rejoin(operation, it, step) : kNewcomer;
  if (answer.state != kByRecord) return;
  if (!waits) it = table_.find(operation.sid);
  it->called = true;
  if (step.settings.mode == Mode::open) admit(it, it->number, true, step);
}

State RoomState::release(const Operation& operation, It it) noexcept {
  const bool known = it != table_.end();
  if (operation.kind == Kind::evict) {
    if (!known || it->place != Place::inside) return State::unknown;
    end(it);
    return State::released;
  }
  if (known) {
    if (it->place != Place::ended) end(it);
    return State::released;
  }
  if (!operation.has_claim() && operation.admitted == 0) return State::released;
  if (!add(operation, Place::ended, version_ + 1, static_cast<std::int64_t>(version_ + 1), horizon_)) return State::no_memory;
  ++version_;
  if (operation.has_claim() && operation.admitted != 0 && operation.epoch != epoch_) ++back_;  // it was reserved a slot
  return State::released;
}

// A caller inside: its grant becomes a session, its session goes on, up to the hard end.
State RoomState::extend(It it, const Step& step) noexcept {
  Micros expiry = step.now + step.settings.session_timeout;
  if (step.settings.session_max > 0) {
    const Micros last = it->stamp + step.settings.session_max;
    if (last <= step.now) {
      end(it);
      return State::gone;
    }
    expiry = std::min(expiry, last);
  }
  put(it, Place::inside, it->number, expiry, it->stamp, true);
  return kByRecord;
}

// A pass that this epoch does not know was let in by an earlier one, or by a gateway alone: its session is inside already.
std::optional<State> RoomState::take_over(const Operation& operation, It it, const Step& step, bool& created) noexcept {
  const Settings& settings = step.settings;
  const bool numbered = operation.has_claim();
  const bool known = it != table_.end();
  if (numbered && operation.epoch == epoch_) return std::nullopt;
  if (cut_hits_pass(operation)) return State::gone;
  const Micros admitted = operation.admitted > 0 ? std::min(operation.admitted, step.now) : step.now;
  if (settings.session_max > 0 && admitted + settings.session_max <= step.now) {
    return known ? std::nullopt : std::optional(State::gone);
  }
  if (inside_ >= std::uint64_t{settings.capacity} + settings.max_waiting) return std::nullopt;
  const std::uint64_t number = numbered ? operation.number : draw_number(step.now);
  const bool was_back = known && it->place == Place::lost;  // it may have been counted before its slot ran out
  if (known) {
    put(it, Place::inside, number, step.now, admitted);
  } else if (!add(operation, Place::inside, number, step.now, admitted)) {
    return State::no_memory;
  }
  if (numbered && !was_back) ++back_;
  if (!numbered) last_number_ = number;
  created = !numbered;
  return extend(known ? it : table_.find(operation.sid), step);
}

// Back into the line with the number of the token.
State RoomState::rejoin(const Operation& operation, It it, const Step& step) noexcept {
  if (cut_hits_claim(operation)) return State::gone;
  if (it != table_.end()) {
    put(it, Place::waiting, operation.number, step.now, step.now);
    return kByRecord;
  }
  return add(operation, Place::waiting, operation.number, step.now, step.now) ? kByRecord : State::no_memory;
}

void RoomState::promote(Step& step) noexcept {
  if (step.settings.mode != Mode::normal || recovering(step.now)) return;
  auto& line = table_.get<ByNumberTag>();
  std::uint32_t budget = kWorkPerStep;
  while (waiting_ > 0 && may_admit(step)) {
    if (budget-- == 0) {
      step.more_work = true;
      return;
    }
    const It head = table_.project<0>(line.begin());
    if (cut_hits(*head)) {
      end(head);
    } else if (head->called || head->stamp >= step.now || holding_on(step.now)) {
      admit(head, head->number, head->called, step);
    } else {
      lose(head, step.now);
      ++abandoned_total_;
    }
  }
}

// A newcomer comes in at once or goes to the end of the line.
void RoomState::join(const Operation& operation, Answer& answer, const Step& step) noexcept {
  if (answer.state != kNewcomer || operation.kind == Kind::evict) return;
  const Settings& settings = step.settings;
  auto it = table_.find(operation.sid);
  if (it != table_.end() && it->place != Place::lost) {
    answer.state = kByRecord;
    return;
  }
  if (operation.kind == Kind::poll) return;
  if (settings.mode == Mode::closed) {
    answer.state = State::closed;
    return;
  }
  const bool allowed = settings.mode == Mode::normal && waiting_ == 0 && !(recovering(step.now) && somebody_waited_);
  const bool direct = settings.mode == Mode::open || (allowed && may_admit(step));
  if (!direct && waiting_ >= settings.max_waiting) {
    answer.state = State::full;
    return;
  }
  const std::uint64_t number = draw_number(step.now);
  if (it != table_.end()) {
    put(it, Place::waiting, number, step.now, step.now);
  } else if (!add(operation, Place::waiting, number, step.now, step.now)) {
    answer.state = State::no_memory;
    return;
  } else {
    it = table_.find(operation.sid);
  }
  last_number_ = number;
  if (direct) admit(it, number, true, step);
  answer.came_in = direct;
  answer.created = true;
  answer.state = kByRecord;
}

void RoomState::fill(const Operation& operation, Answer& answer, const Step& step) noexcept {
  if (answer.state != kByRecord) return;
  const auto it = table_.find(operation.sid);
  const bool came_in = answer.came_in || it->called;
  answer.came_in = false;
  it->called = false;
  if (it->place == Place::lost || it->place == Place::ended) {
    answer.state = State::gone;
    return;
  }
  answer.epoch = epoch_;
  answer.number = it->number;
  if (it->place == Place::inside) {
    answer.state = State::admitted;
    answer.came_in = came_in;
    answer.expires = it->when;
    answer.admitted_at = it->stamp;
    return;
  }
  constexpr Micros kLongestGap = 90'000'000;
  constexpr Micros kShortestDue = 2'000'000;  // nobody is told to ask in less than a second
  const Settings& settings = step.settings;
  const std::uint64_t rank = table_.get<ByNumberTag>().rank(table_.project<ByNumberTag>(it)) + 1;
  const Micros gap = std::max<Micros>(operation.gap, 0);
  answer.state = settings.mode == Mode::closed ? State::closed : State::waiting;
  answer.rank = recovering(step.now) ? 0 : rank;
  answer.interval = poll_interval(rank, settings.poll_min, settings.poll_max);
  const Micros own = gap < kLongestGap ? std::min(gap + gap / 2, kLongestGap) : kLongestGap;
  const Micros due = step.now + std::max({2 * answer.interval, kShortestDue, own});
  due < it->when ? put(it, Place::waiting, it->number, due, due) : void(it->stamp = due);
}

}  // namespace fairway::room
