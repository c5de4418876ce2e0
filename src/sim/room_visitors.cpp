// What visitors and bots do.
#include <algorithm>
#include <cmath>

#include "sim/room_run.h"

namespace fairway::sim {

using room::Kind;
using room::State;

namespace {

constexpr Micros kBackground = 60 * kSecond;  // browsers let the timers of hidden tabs run once a minute
constexpr Micros kSettled = 120 * kSecond;    // estimates are judged from then on
constexpr Micros kTooNear = 10 * kSecond;     // nobody looks at an estimate of less
// Retry-After of the gateway's answers without a place.
constexpr Micros kRetryFull = 30 * kSecond;
constexpr Micros kRetryClosed = 60 * kSecond;
constexpr Micros kRetryAnew = kSecond;

}  // namespace

room::Answer RoomSimulation::call(Visitor& v, Kind kind) {
  room::Operation operation{.kind = kind, .sid = sid_of(v.serial)};
  if (v.number != 0) {
    operation.epoch = host_.summary().epoch;
    operation.number = v.number;
    operation.gap = now_ - v.asked;
  }
  const room::Answer answer = host_.call(settings_, operation, now_);
  v.asked = now_;
  if (answer.number != 0) v.number = answer.number;
  report_.most_inside = std::max(report_.most_inside, host_.summary().inside);
  report_.most_waiting = std::max(report_.most_waiting, host_.summary().waiting);
  return answer;
}

void RoomSimulation::happen(std::uint32_t index) {
  const Visitor& v = visitors_[index];
  if (v.where == Where::inside) {
    visit(index);
  } else if (v.bot != 0) {
    bot_acts(index);
  } else if (now_ >= v.until) {
    give_up(index);
  } else {
    ask(index);
  }
}

void RoomSimulation::ask(std::uint32_t index) {
  Visitor& v = visitors_[index];
  act_on(index, call(v, v.where == Where::in_line ? Kind::poll : Kind::enter));
}

void RoomSimulation::act_on(std::uint32_t index, const room::Answer& answer) {
  Visitor& v = visitors_[index];
  switch (answer.state) {
    case State::admitted:
      return come_in(index);
    case State::waiting:
      return wait_in_line(index, answer);
    case State::closed:  // a place in line is kept
      v.where = v.number != 0 ? Where::in_line : Where::outside;
      return ask_after(index, kRetryClosed);
    case State::full:
    case State::no_memory:
      report_.no_memory += answer.state == State::no_memory;
      report_.busy += v.bot == 0;
      return ask_after(index, kRetryFull);
    default:
      report_.lost_places += v.bot == 0;
      begin_anew(v);
      return ask_after(index, kRetryAnew);
  }
}

void RoomSimulation::begin_anew(Visitor& v) {
  v.serial = ++serials_;
  v.number = 0;
  v.where = Where::outside;
  v.shown = kNothing;
}

// The next question, or the end of patience if that comes first.
void RoomSimulation::ask_after(std::uint32_t index, Micros pause) {
  const Visitor& v = visitors_[index];
  if (v.bot != 0) return timeline_.put(now_ + kSecond / plan_.bots.polls, index);
  const Micros told = jittered_seconds(pause, random_.bits()) * kSecond;
  timeline_.put(std::min(now_ + (v.hidden ? std::max(told, kBackground) : told), std::max(now_, v.until)), index);
}

void RoomSimulation::wait_in_line(std::uint32_t index, const room::Answer& answer) {
  Visitor& v = visitors_[index];
  v.where = Where::in_line;
  if (v.bot == 0) look_at_estimate(v, answer.rank);
  ask_after(index, answer.interval);
}

// What the page shows: the estimate falls at once and rises by thirds (web/waiting/src/line.ts).
void RoomSimulation::look_at_estimate(Visitor& v, std::uint64_t rank) {
  const auto told = host_.wait(settings_, rank);
  if (!told || v.shown == kNothing || *told <= v.shown) {
    v.shown = told.value_or(kNothing);
  } else {
    v.shown += (*told - v.shown + 2) / 3;
  }
  const Micros since = line_since_ == kNever ? kNever : std::max(line_since_, changed_at_) + kSettled;
  if (now_ < since || random_.bits() % ++v.looks != 0) return;
  v.noted = v.shown;
  v.noted_at = now_;
}

void RoomSimulation::judge_estimate(const Visitor& v) {
  const Micros waited = now_ - v.noted_at;
  if (v.looks == 0 || v.noted_at < changed_at_ || waited < kTooNear) return;
  EstimateErrors& errors = report_.estimates;
  ++errors.count;
  if (v.noted == kNothing) {
    ++errors.untold;
    return;
  }
  const double actual = static_cast<double>(waited) / kSecond;
  const double percent = 100 * std::abs(v.noted - actual) / actual;
  ++errors.counts[std::min(errors.counts.size() - 1, static_cast<std::size_t>(percent))];
}

void RoomSimulation::come_in(std::uint32_t index) {
  Visitor& v = visitors_[index];
  (v.where == Where::in_line ? claimed_ : direct_)++;
  if (v.bot != 0) {
    ++report_.bots_let_in;
  } else if (!v.was_inside) {
    report_.direct += v.where != Where::in_line;
    report_.waits.add(now_ - v.arrived);
    judge_estimate(v);
  }
  v.where = Where::inside;
  v.was_inside = true;
  v.until = now_ + plan_.stay.draw(random_);
  look_in_after(index);
}

// The next request that the pass does not answer alone; those in between cost the store nothing.
void RoomSimulation::look_in_after(std::uint32_t index) {
  const Visitor& v = visitors_[index];
  const auto pause = static_cast<Micros>(random_.exponential(static_cast<double>(plan_.click)));
  timeline_.put(std::min(v.asked + plan_.refresh + pause, v.until), index);
}

void RoomSimulation::visit(std::uint32_t index) {
  Visitor& v = visitors_[index];
  const bool ends = now_ >= v.until;
  if (ends && v.signs_out) call(v, Kind::release);
  if (ends) {
    report_.outcomes.stayed += v.bot == 0;
    return leave(index);
  }
  const room::Answer answer = call(v, Kind::heartbeat);
  if (answer.state == State::admitted) {
    claimed_ += answer.admitted_at == host_.summary().now;  // the session had run out, and its number brought it in again at once
    return look_in_after(index);
  }
  if (answer.state == State::waiting) {
    ++(v.bot == 0 ? report_.sent_back : report_.bots_sent_back);
    v.until = kNever;
    return wait_in_line(index, answer);
  }
  report_.outcomes.cut_short += v.bot == 0;
  leave(index);
}

void RoomSimulation::give_up(std::uint32_t index) {
  Visitor& v = visitors_[index];
  if (v.where == Where::outside) {
    ++report_.outcomes.turned_away;
  } else if (v.polite) {
    ++report_.outcomes.left_politely;
    declined_ += host_.holds_grant(sid_of(v.serial));
    call(v, Kind::release);
  } else {
    ++report_.outcomes.left_silently;
    ++silent_in_line_;
  }
  leave(index);
}

// A bot opens its next session; a visitor is gone.
void RoomSimulation::leave(std::uint32_t index) {
  Visitor& v = visitors_[index];
  if (v.bot != 0 && now_ < plan_.over) {
    begin_anew(v);
    return ask_after(index, 0);
  }
  v.where = Where::outside;
  free_.push_back(index);
}

void RoomSimulation::bot_acts(std::uint32_t index) {
  Visitor& v = visitors_[index];
  if (now_ >= plan_.over) {
    silent_in_line_ += v.where == Where::in_line;
    return leave(index);
  }
  if (!polls_.admit(mix(v.serial), plan_.polls_per_second, kSecond, now_)) {
    ++report_.bot_polls_refused;
    return ask_after(index, 0);
  }
  const bool enters = v.where == Where::outside;
  if (enters && plan_.entries_per_minute != 0 && !entries_.admit(mix(v.bot), plan_.entries_per_minute, 60 * kSecond, now_)) {
    ++report_.bot_entries_refused;
    return ask_after(index, 0);
  }
  report_.bot_sessions += enters;
  ask(index);
}

std::uint32_t RoomSimulation::add(const Visitor& v) {
  if (free_.empty()) {
    visitors_.push_back(v);
    return static_cast<std::uint32_t>(visitors_.size() - 1);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  visitors_[index] = v;
  return index;
}

double EstimateErrors::error(double quantile) const {
  const double wanted = quantile * static_cast<double>(count);
  double seen = 0;
  for (std::size_t percent = 0; percent < counts.size(); ++percent) {
    if (counts[percent] == 0 || seen + counts[percent] < wanted) {
      seen += counts[percent];
      continue;
    }
    return (static_cast<double>(percent) + (wanted - seen) / counts[percent]) / 100;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace fairway::sim
