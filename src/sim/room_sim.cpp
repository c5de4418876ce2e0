#include "sim/room_sim.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/room_run.h"

namespace fairway::sim {

namespace {

constexpr Micros kDay = 86'400 * kSecond;

std::uint64_t records_of(const RoomPlan& plan) {
  constexpr std::uint64_t kMarksOfABot = 2'000;  // what a room remembers of its earlier sessions
  return plan.visitors + plan.bots.count * (plan.bots.sessions + kMarksOfABot) + 10'000;
}

}  // namespace

std::uint64_t mix(std::uint64_t n) noexcept {  // splitmix64 (Steele, Lea and Flood, 2014)
  n += 0x9e3779b97f4a7c15U;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9U;
  n = (n ^ (n >> 27)) * 0x94d049bb133111ebU;
  return n ^ (n >> 31);
}

Sid sid_of(std::uint64_t serial) noexcept {
  const std::uint64_t words[2] = {mix(serial), serial};
  Sid sid;
  std::memcpy(sid.bytes.data(), words, sizeof words);
  return sid;
}

RoomSimulation::RoomSimulation(const RoomPlan& plan, const std::function<void(const RoomProgress&)>& progress)
    : plan_(plan),
      progress_(progress),
      host_(records_of(plan)),
      random_(plan.seed),
      arrivals_(plan.arrivals, plan.visitors, plan.over, mix(plan.seed)),
      next_arrival_(arrivals_.next()),
      settings_(plan.settings),
      end_(plan.longest != 0 ? plan.longest : plan.over + kDay),
      entries_(plan.bots.count + 1),
      polls_(std::size_t{plan.bots.count} * plan.bots.sessions * 2 + 1) {
  report_.estimates.counts.resize(1001);
}

RoomReport RoomSimulation::run() {
  start_bots();
  while (now_ < end_ && !over()) {
    const Micros limit = std::min({next_arrival_.value_or(kNever), next_second_, end_});
    if (const auto event = timeline_.take(limit + 1)) {
      now_ = event->at;
      happen(event->subject);
    } else if (next_arrival_ && *next_arrival_ <= std::min(next_second_, end_)) {
      now_ = *next_arrival_;
      arrive();
    } else if (next_second_ <= end_) {
      now_ = next_second_;
      second();
    } else {
      now_ = end_;
    }
  }
  finish();
  return std::move(report_);
}

bool RoomSimulation::over() const {
  return !next_arrival_ && timeline_.empty() && next_change_ == plan_.changes.size() &&
         host_.summary().inside + host_.summary().waiting == 0;
}

void RoomSimulation::second() {
  while (next_change_ < plan_.changes.size() && plan_.changes[next_change_].at <= now_) {
    settings_ = plan_.changes[next_change_++].settings;
    changed_at_ = now_;
  }
  host_.look(settings_, now_);
  const room::Summary& summary = host_.summary();
  if (summary.waiting == 0) line_since_ = kNever;
  if (summary.waiting != 0 && line_since_ == kNever) line_since_ = now_;
  report_.waiting.add(summary.waiting);
  report_.inside.add(summary.inside);
  report_.admissions.add(static_cast<double>(summary.admitted_total - admitted_before_));
  report_.calls.add(static_cast<double>(host_.calls() - calls_before_));
  admitted_before_ = summary.admitted_total;
  calls_before_ = host_.calls();
  next_second_ += kSecond;
  if (progress_) progress_({now_, report_.arrived, report_.outcomes.sum()});
}

void RoomSimulation::arrive() {
  next_arrival_ = arrivals_.next();
  ++report_.arrived;
  Visitor v{.serial = ++serials_, .arrived = now_, .until = kNever};
  const double kind = random_.unit();
  v.polite = kind >= plan_.silent;
  if (kind < plan_.silent + plan_.polite) v.until = now_ + plan_.patience.draw(random_);
  v.hidden = random_.chance(plan_.hidden);
  v.signs_out = random_.chance(plan_.sign_out);
  ask(add(v));
}

void RoomSimulation::start_bots() {
  for (std::uint32_t bot = 1; bot <= plan_.bots.count; ++bot) {
    for (std::uint32_t i = 0; i < plan_.bots.sessions; ++i) {
      timeline_.put(0, add({.serial = ++serials_, .bot = bot}));
    }
  }
}

void RoomSimulation::finish() {
  for (const Visitor& v : visitors_) {
    if (v.bot != 0 || v.serial == 0) continue;
    report_.outcomes.still_inside += v.where == Where::inside;
    report_.outcomes.still_waiting += v.where == Where::in_line;
  }
  report_.outcomes.still_outside = report_.arrived - report_.outcomes.sum();
  const room::Summary& summary = host_.summary();
  const std::uint64_t pending = summary.granted;
  report_.called = summary.admitted_total - direct_;
  report_.wasted = report_.called - claimed_ - declined_ - pending;
  // Whoever left without a word was either dropped, passed over or called in vain, or is still filed; what is more hit somebody else.
  const std::uint64_t gone = summary.abandoned_total + report_.wasted;
  report_.passed_over = gone > silent_in_line_ ? gone - silent_in_line_ : 0;
  report_.store_calls = host_.calls();
  report_.length = now_;
}

RoomReport simulate_room(const RoomPlan& plan, const std::function<void(const RoomProgress&)>& progress) {
  return RoomSimulation(plan, progress).run();
}

}  // namespace fairway::sim
