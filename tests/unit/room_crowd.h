// Browsers with cookies, for random lives of a room: what they can cause, as the gateway checks their tokens, and what they must be
// answered.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "room_visit.h"

namespace fairway::room::test {

class Choices {
 public:
  virtual ~Choices() = default;
  virtual std::uint64_t below(std::uint64_t n) = 0;  // uniform in [0, n), n > 0
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  Micros between(Micros low, Micros high) { return low + static_cast<Micros>(below(static_cast<std::uint64_t>(high - low) + 1)); }
};

// The cookies of one browser. A life is one life of the store; losing writes begins the next.
struct Person {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  Visitor now;      // newest tokens
  Visitor earlier;  // a copy of older ones, for replay
  Micros ticket_until = 0, earlier_until = 0;
  Micros pass_until = 0;                              // an expired pass counts as a ticket until then
  std::uint64_t ticket_life = 0, pass_life = kNever;  // in which life of the store they were written
  bool refused = false;                               // the pass was; it is not expected to hold any more
  bool ended = false;
  std::uint64_t ended_life = 0;
  bool plain = true;  // always shows its newest tokens
};

// How often things happened, to see that a run was worth something.
struct Tally {
  std::uint64_t calls = 0, admitted = 0, waiting = 0, gone = 0, full = 0, no_memory = 0, losses = 0, rollbacks = 0, recoveries = 0,
                returned = 0, cuts = 0;
};

class Crowd {
 public:
  explicit Crowd(Choices& choices) : choices_(choices) {
    for (Person& p : people_) newborn(p);
  }

  // Forgets what was asked, and asks `count` times at `now`, the gateway's time.
  void ask(std::uint64_t count, Micros now, const Settings& settings);
  // Takes the answers into the cookies; "" or what must not be.
  std::string take(std::span<const Answer> answers, const Summary& summary, const Settings& settings, Tally& tally);
  void store_lost_writes() noexcept { ++life_; }
  void everybody_was_cut() noexcept {
    for (Person& p : people_) p.refused = true;
  }

  std::span<const Operation> operations() const noexcept { return operations_; }
  std::uint64_t last_drawn() const noexcept { return last_drawn_; }

 private:
  void newborn(Person& p);
  Operation operation(Kind kind, const Visitor& v, Micros until) const;
  void return_as(Person& p);
  void replay(Person& p);
  std::string check_numbers(std::span<const Answer> answers);
  std::string check(const Person& p, const Operation& op, const Answer& answer, const Summary& summary, const Settings& settings) const;
  void carry(Person& p, const Operation& op, const Answer& answer, Micros now, const Settings& settings);
  bool asked_again(const Sid& sid) const {
    return std::count_if(operations_.begin(), operations_.end(), [&sid](const Operation& o) { return o.sid == sid; }) > 1;
  }

  Choices& choices_;
  std::array<Person, 24> people_;
  std::uint64_t born_ = 0;
  std::uint64_t life_ = 0;
  std::uint64_t last_drawn_ = 0;  // the largest number any call drew
  Micros now_ = 0;
  std::vector<Operation> operations_;
  std::vector<Person*> who_;
};

inline void Crowd::newborn(Person& p) {
  p = Person{};
  p.now.sid = sid_of(++born_);
}

inline void Crowd::ask(std::uint64_t count, Micros now, const Settings& settings) {
  now_ = now;
  operations_.clear();
  who_.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    Person& p = people_[choices_.below(people_.size())];
    // The gateway's own list of ended sessions survives the store; a store that lost nothing must know by itself.
    const bool known = p.ended_life == life_ && p.ticket_life == life_ && (p.pass_life == life_ || p.pass_life == Person::kNever);
    if (p.ended && !known) newborn(p);
    who_.push_back(&p);
    choices_.one_in(16) ? replay(p) : return_as(p);
    // No gateway lets a pass through that is past session_max.
    Operation& op = operations_.back();
    const bool over = settings.session_max > 0 && op.admitted + settings.session_max <= now_;
    if (op.kind == Kind::heartbeat && over) op.kind = Kind::enter;
  }
}

inline Operation Crowd::operation(Kind kind, const Visitor& v, Micros until) const {
  Operation op{.kind = kind, .sid = v.sid, .epoch = v.epoch, .number = v.number};
  if (kind == Kind::heartbeat || kind == Kind::release) op.admitted = v.admitted;
  if (until > now_ && v.issued != 0) op.gap = now_ - v.issued;
  return op;
}

inline void Crowd::return_as(Person& p) {
  const bool dated_ahead = p.now.issued > now_ + kMinute;
  const bool pass = p.now.expires > now_ && !dated_ahead;
  const bool ticket = std::max(p.ticket_until, p.pass_until) > now_ && !dated_ahead;
  if (!pass && !ticket && p.now.number != 0) newborn(p);
  const std::uint64_t what = choices_.below(40);
  Kind kind = pass ? Kind::heartbeat : Kind::enter;
  if (what < 16) kind = Kind::poll;
  if (what == 16) kind = Kind::release;
  if (what == 17) kind = Kind::evict;
  if (what == 18) kind = Kind::enter;
  Operation op = operation(kind, p.now, p.ticket_until);
  if (what == 19 && !p.ended) {  // shows a pass that the gateway gave out alone while the store was away
    op = Operation{.kind = Kind::heartbeat, .sid = p.now.sid, .admitted = now_ - choices_.between(0, 4) * kSecond};
  } else if (what == 20 && kind == Kind::enter) {  // a client that kept its first ticket
    op.epoch = op.number = 0;
  }
  p.plain = p.plain && (op.has_claim() || p.now.number == 0);
  operations_.push_back(op);
}

inline void Crowd::replay(Person& p) {
  if (p.earlier.number == 0 || p.earlier_until <= now_ || p.earlier.issued > now_ + kMinute) return return_as(p);
  const bool pass = p.earlier.expires > now_;
  operations_.push_back(operation(pass && choices_.one_in(2) ? Kind::heartbeat : Kind::enter, p.earlier, p.earlier_until));
}

inline std::string Crowd::check_numbers(std::span<const Answer> answers) {
  std::vector<std::uint64_t> drawn;
  for (const Answer& answer : answers) {
    if (!answer.created || answer.number == 0) continue;
    if (answer.number <= last_drawn_) return "a number was drawn that is not above all others";
    drawn.push_back(answer.number);
  }
  std::sort(drawn.begin(), drawn.end());
  if (std::adjacent_find(drawn.begin(), drawn.end()) != drawn.end()) return "a number was drawn twice";
  if (!drawn.empty()) last_drawn_ = drawn.back();
  return "";
}

inline std::string Crowd::check(const Person& p, const Operation& op, const Answer& answer, const Summary& summary,
                                const Settings& settings) const {
  const bool placed = answer.number != 0;
  if (p.ended && placed) return "an ended session came back";
  const bool newest = op.epoch == p.now.epoch && op.number == p.now.number;
  if (placed && p.plain && newest && op.has_claim() && answer.number != op.number) return "somebody came back to another number";
  const bool holds = op.kind == Kind::heartbeat && p.pass_life == life_ && newest && op.admitted == p.now.admitted &&
                     p.now.expires > summary.now && !p.ended && !p.refused;
  const bool over = settings.session_max > 0 && p.now.admitted + settings.session_max <= summary.now;
  if (holds && !over && !asked_again(op.sid) && answer.state != State::admitted) return "a pass was refused before it expired";
  return "";
}

inline std::string Crowd::take(std::span<const Answer> answers, const Summary& summary, const Settings& settings, Tally& tally) {
  std::string wrong = check_numbers(answers);
  for (std::size_t i = 0; i < answers.size() && wrong.empty(); ++i) {
    Person& p = *who_[i];
    const Operation& op = operations_[i];
    const Answer& answer = answers[i];
    if (op.sid != p.now.sid) continue;  // this browser started anew earlier in the call
    wrong = check(p, op, answer, summary, settings);
    tally.admitted += answer.state == State::admitted;
    tally.waiting += answer.state == State::waiting;
    tally.gone += answer.state == State::gone;
    tally.full += answer.state == State::full;
    tally.no_memory += answer.state == State::no_memory;
    tally.returned += answer.number != 0 && op.has_claim() && !answer.created && op.epoch != answer.epoch;
    carry(p, op, answer, summary.now, settings);
  }
  return wrong;
}

inline void Crowd::carry(Person& p, const Operation& op, const Answer& answer, Micros now, const Settings& settings) {
  if (answer.state == State::released) {
    p.ended = op.has_claim() || op.admitted != 0;
    p.ended_life = life_;
    return;
  }
  if (answer.state == State::gone) {
    p.refused = true;
    if (!choices_.one_in(4)) newborn(p);
    return;
  }
  if (answer.number == 0) return;
  p.earlier = p.now;
  p.earlier_until = p.ticket_until;
  p.now.epoch = answer.epoch;
  p.now.number = answer.number;
  p.now.issued = now;
  p.ticket_life = life_;
  p.ticket_until = now + settings.abandon_timeout + settings.return_grace;
  if (answer.state != State::admitted) return;
  p.now.admitted = answer.admitted_at;
  p.now.expires = answer.expires;
  p.pass_until = answer.expires + settings.return_grace;
  p.pass_life = life_;
  p.refused = false;
}

}  // namespace fairway::room::test
