// A small world around one room: two gateways, a crowd with cookies, an operator, a store that loses things. What happens next is
// chosen by a source of choices (random numbers or a fuzzer's bytes); after every call the oracle looks whether the guarantees hold.
#pragma once

#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "room_oracle.h"

namespace fairway::room::test {

class Choices {
 public:
  virtual ~Choices() = default;
  virtual std::uint64_t below(std::uint64_t n) = 0;  // uniform in [0, n), n > 0
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  Micros between(Micros low, Micros high) { return low + static_cast<Micros>(below(static_cast<std::uint64_t>(high - low) + 1)); }
};

// The cookies of one browser. `life` is the life of the store they were last written in.
struct Person {
  Visitor now;      // newest tokens
  Visitor earlier;  // a copy of older ones, for replay
  Micros ticket_until = 0, earlier_until = 0;
  Micros pass_until = 0;  // an expired pass counts as a ticket until then
  bool ended = false;
  std::uint64_t ended_life = 0;
  std::uint64_t pass_life = 0, ticket_life = 0;
};

class World {
 public:
  explicit World(Choices& choices);
  ~World() { state_->~RoomState(); }
  // One event and one call; "" or the guarantee that was broken.
  std::string step();
  // The last call in words, for a failure.
  std::string describe() const;
  // How often things happened, to see that a run was worth something.
  struct Seen {
    std::uint64_t calls, admitted, waiting, gone, full, no_memory, losses, rollbacks, recoveries, returned, taken_over, cuts;
  };
  const Seen& seen() const noexcept { return seen_; }

 private:
  static constexpr std::size_t kBlock = 128 * 1024;

  void set_settings();
  void let_time_pass();
  void something_happens();
  void start_anew();
  void lose();
  void roll_back();
  // What the store's clock will say in the next call, which is the gateways' clock as well.
  Micros steady() const noexcept { return summary_.now + std::max<Micros>(0, wall_ - called_at_); }
  void clock_starts_anew() noexcept { summary_.now = called_at_ = wall_; }
  void add_operation();
  void add_return(Person& p);
  void add_replay(Person& p);
  Operation operation(Kind kind, const Visitor& v, Micros until) const;
  void newborn(Person& p);
  std::string run();
  std::string take_answers();
  std::string take(Person& p, const Operation& op, const Answer& answer);

  Choices& choices_;
  Block block_{kBlock};
  Arena* arena_ = nullptr;
  RoomState* state_ = nullptr;
  bool tight_ = false;
  Oracle oracle_;
  Settings settings_;
  Summary summary_;
  Micros wall_ = kStart;
  Micros called_at_ = kStart;
  std::array<Memory, 2> memories_;
  Memory told_;  // what the last call was told
  std::size_t gateway_ = 0;
  std::array<Person, 24> people_;
  std::uint64_t born_ = 0;
  std::uint64_t life_ = 0;        // grows with each loss
  std::uint64_t last_drawn_ = 0;  // the largest number any call drew
  std::vector<char> snapshot_;
  Summary snapshot_summary_;
  Micros cut_until_ = 0;
  std::vector<Operation> operations_;
  std::vector<std::size_t> who_;
  std::vector<Answer> answers_;
  Seen seen_{};
};

inline World::World(Choices& choices) : choices_(choices) {
  tight_ = choices_.one_in(8);
  set_settings();
  start_anew();
  for (Person& p : people_) newborn(p);
}

inline void World::set_settings() {
  Settings s;
  s.capacity = static_cast<std::uint32_t>(choices_.below(9));
  const std::uint64_t rate = choices_.below(4);
  if (rate != 0) {
    s.rate = static_cast<std::uint32_t>(1 + choices_.below(6));
    s.rate_window = rate == 1 ? kMinute : kSecond;
  }
  s.session_timeout = choices_.between(5, 120) * kSecond;
  s.session_max = choices_.one_in(3) ? s.session_timeout + choices_.between(0, 200) * kSecond : 0;
  s.grant_timeout = choices_.between(1, 40) * kSecond;
  s.abandon_timeout = choices_.between(1, 90) * kSecond;
  s.return_grace = choices_.between(1, 200) * kSecond;
  s.max_waiting = static_cast<std::uint32_t>(choices_.below(30));
  s.poll_min = choices_.between(1, 5) * kSecond;
  s.poll_max = s.poll_min + choices_.between(0, 30) * kSecond;
  settings_ = s;
}

inline void World::newborn(Person& p) {
  p = Person{};
  p.now.sid = sid_of(++born_);
}

// An empty state in the same block; a tight one has memory for few sessions.
inline void World::start_anew() {
  if (state_ != nullptr) state_->~RoomState();
  arena_ = Arena::create(block_.data(), kBlock);
  state_ = new (arena_->take_table(sizeof(RoomState))) RoomState(*arena_, 40);
  if (!tight_) return;
  for (std::vector<void*> taken; arena_->free_bytes() > 0;) {
    void* record = arena_->take_record();
    if (record != nullptr) {
      taken.push_back(record);
      continue;
    }
    for (std::size_t i = 0; i < 12 && i < taken.size(); ++i) arena_->give_record(taken[i]);
    break;
  }
}

inline void World::lose() {
  ++life_;
  ++seen_.losses;
  snapshot_.clear();
  start_anew();
  oracle_.lost(Summary{});
  const bool forgotten = choices_.one_in(3);
  if (forgotten) memories_ = {};
  if (!forgotten && choices_.one_in(3)) {
    // The clock is set back at the same time; the gateways know better as long as they are up to date.
    memories_.fill(Memory{summary_.epoch, summary_.version, summary_.last_number, summary_.inside, summary_.waiting, false});
    wall_ -= choices_.between(0, 3600) * kSecond;
  } else {
    wall_ = std::max({wall_, steady(), static_cast<Micros>(last_drawn_)}) + 1;
  }
  clock_starts_anew();
}

inline void World::roll_back() {
  if (snapshot_.empty()) {
    const auto* bytes = static_cast<const char*>(block_.data());
    snapshot_.assign(bytes, bytes + kBlock);
    snapshot_summary_ = summary_;
    return;
  }
  ++life_;
  ++seen_.rollbacks;
  std::memcpy(block_.data(), snapshot_.data(), kBlock);
  snapshot_.clear();
  oracle_.lost(snapshot_summary_);
  memories_.fill(Memory{summary_.epoch, summary_.version, summary_.last_number, summary_.inside, summary_.waiting, false});
  wall_ = std::max({wall_, steady(), static_cast<Micros>(last_drawn_)}) + 1;
  clock_starts_anew();
}

inline void World::let_time_pass() {
  switch (choices_.below(12)) {
    case 0:
      break;
    case 1:
      wall_ += choices_.between(0, 10);
      break;
    case 2:
      wall_ += choices_.between(0, 60) * kSecond;
      break;
    case 3:
      if (choices_.one_in(20)) wall_ += choices_.between(0, 900) * kSecond;
      break;
    case 4:
      if (choices_.one_in(40)) wall_ -= choices_.between(0, 50) * kSecond;
      break;
    default:
      wall_ += choices_.between(0, 400'000);
      break;
  }
}

inline void World::something_happens() {
  const std::uint64_t what = choices_.below(2000);
  if (what < 4) set_settings();
  if (what < 8) settings_.capacity = static_cast<std::uint32_t>(choices_.below(9));
  if (what >= 8 && what < 20) settings_.mode = static_cast<Mode>(choices_.below(4));
  if (what >= 20 && what < 40) settings_.mode = Mode::normal;
  if (what == 40) lose();
  if (what >= 41 && what < 46) roll_back();
  if (what == 46) memories_[choices_.below(2)] = Memory{};
  if (what >= 47 && what < 50) memories_[choices_.below(2)].outage_ended = true;
}

inline Operation World::operation(Kind kind, const Visitor& v, Micros until) const {
  Operation op{.kind = kind, .sid = v.sid, .epoch = v.epoch, .number = v.number};
  if (kind == Kind::heartbeat || kind == Kind::release) op.admitted = v.admitted;
  if (until > steady() && v.issued != 0) op.gap = steady() - v.issued;
  return op;
}

// What a browser with these cookies can cause, as the gateway checks them.
inline void World::add_return(Person& p) {
  const bool dated_ahead = p.now.issued > steady() + kMinute;
  const bool pass = p.now.expires > steady() && !dated_ahead;
  const bool ticket = std::max(p.ticket_until, p.pass_until) > steady() && !dated_ahead;
  if (!pass && !ticket && p.now.number != 0) newborn(p);
  const std::uint64_t what = choices_.below(40);
  Kind kind = pass ? Kind::heartbeat : Kind::enter;
  if (what < 16) kind = Kind::poll;
  if (what == 16) kind = Kind::release;
  if (what == 17) kind = Kind::evict;
  if (what == 18) kind = Kind::enter;
  operations_.push_back(operation(kind, p.now, p.ticket_until));
  if (what == 19 && !p.ended) {
    // A pass that the gateway gave out alone while the store was away.
    operations_.back() = Operation{.kind = Kind::heartbeat, .sid = p.now.sid, .admitted = steady() - choices_.between(0, 4) * kSecond};
  }
  if (what == 20 && kind != Kind::heartbeat)
    operations_.back().epoch = operations_.back().number = 0;  // a client that kept its first ticket
}

inline void World::add_replay(Person& p) {
  if (p.earlier.number == 0 || p.earlier_until <= steady() || p.earlier.issued > steady() + kMinute) return add_return(p);
  const bool pass = p.earlier.expires > steady();
  operations_.push_back(operation(pass && choices_.one_in(2) ? Kind::heartbeat : Kind::enter, p.earlier, p.earlier_until));
}

inline void World::add_operation() {
  const std::size_t who = choices_.below(people_.size());
  Person& p = people_[who];
  // The gateway's own list of ended sessions survives the store; a store that lost nothing must know by itself.
  if (p.ended && (p.ended_life != life_ || p.ticket_life != life_)) newborn(p);
  who_.push_back(who);
  choices_.one_in(16) ? add_replay(p) : add_return(p);
}

inline std::string World::step() {
  let_time_pass();
  something_happens();
  gateway_ = choices_.below(2);
  operations_.clear();
  who_.clear();
  const std::uint64_t operations = choices_.one_in(4) ? choices_.below(6) : 1;
  for (std::uint64_t i = 0; i < operations; ++i) add_operation();
  return run();
}

inline std::string World::run() {
  answers_.assign(operations_.size(), Answer{});
  Memory& memory = memories_[gateway_];
  told_ = memory;
  oracle_.look_before(*state_);
  const bool recovering = summary_.recovering;
  if (operations_.empty() && choices_.one_in(50)) {
    ++seen_.cuts;
    state_->cut(wall_, settings_, memory, Cut{.line = choices_.one_in(2)}, summary_);
    cut_until_ = summary_.now + 3600 * kSecond;
  } else {
    summary_ = state_->call(wall_, settings_, memory, operations_, answers_);
  }
  called_at_ = wall_;
  ++seen_.calls;
  seen_.recoveries += summary_.recovering && !recovering;
  const Call call{settings_, memory, operations_, answers_, summary_, summary_.now < cut_until_, tight_};
  std::string wrong = oracle_.check(*state_, call);
  if (wrong.empty()) wrong = take_answers();
  memory = Memory{summary_.epoch, summary_.version, summary_.last_number, summary_.inside, summary_.waiting, false};
  return wrong;
}

inline std::string World::describe() const {
  std::ostringstream out;
  const Settings& s = settings_;
  out << "\nmode " << int(s.mode) << ", capacity " << s.capacity << ", rate " << s.rate << "/" << s.rate_window << ", max_waiting "
      << s.max_waiting << ", session " << s.session_timeout << " max " << s.session_max << ", grant " << s.grant_timeout << ", abandon "
      << s.abandon_timeout << ", grace " << s.return_grace << "\nnow " << summary_.now - kStart << ", epoch " << summary_.epoch
      << ", inside " << summary_.inside << ", granted " << summary_.granted << ", waiting " << summary_.waiting
      << (summary_.recovering ? ", recovering" : "") << ", admitted in all " << summary_.admitted_total << "\ntold: epoch " << told_.epoch
      << ", version " << told_.version << ", inside " << told_.inside << ", waiting " << told_.waiting
      << (told_.outage_ended ? ", outage" : "");
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& op = operations_[i];
    const Answer& a = answers_[i];
    out << "\n"
        << id_of(op.sid) << " kind " << int(op.kind) << " claim " << op.epoch << "/" << op.number << " gap " << op.gap << " -> state "
        << int(a.state) << (a.created ? " created" : "") << " number " << a.number << " rank " << a.rank;
  }
  return out.str();
}

inline std::string World::take_answers() {
  std::uint64_t highest = last_drawn_;
  std::vector<std::uint64_t> drawn;
  for (const Answer& answer : answers_) {
    if (!answer.created || answer.number == 0) continue;
    if (answer.number <= last_drawn_) return "a number was drawn that is not above all others";
    drawn.push_back(answer.number);
    highest = std::max(highest, answer.number);
  }
  std::sort(drawn.begin(), drawn.end());
  if (std::adjacent_find(drawn.begin(), drawn.end()) != drawn.end()) return "a number was drawn twice";
  last_drawn_ = highest;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const std::string wrong = take(people_[who_[i]], operations_[i], answers_[i]);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

inline std::string World::take(Person& p, const Operation& op, const Answer& answer) {
  if (op.sid != p.now.sid) return "";  // this browser started anew earlier in the call
  const bool placed = answer.number != 0;
  const bool again = static_cast<std::size_t>(
                         std::count_if(operations_.begin(), operations_.end(), [&op](const Operation& o) { return o.sid == op.sid; })) > 1;
  if (p.ended && placed) return "an ended session came back";
  const bool pass_holds = op.kind == Kind::heartbeat && p.pass_life == life_ && op.epoch == p.now.epoch && op.number == p.now.number &&
                          op.admitted == p.now.admitted && p.now.expires > summary_.now && summary_.now >= cut_until_;
  const bool over = settings_.session_max > 0 && p.now.admitted + settings_.session_max <= summary_.now;
  if (pass_holds && !again && !over && !p.ended && answer.state != State::admitted) return "a pass was refused before it expired";
  seen_.admitted += answer.state == State::admitted;
  seen_.waiting += answer.state == State::waiting;
  seen_.gone += answer.state == State::gone;
  seen_.full += answer.state == State::full;
  seen_.no_memory += answer.state == State::no_memory;
  seen_.returned += placed && op.has_claim() && !answer.created && op.epoch != answer.epoch;
  if (answer.state == State::released) {
    p.ended = op.has_claim() || op.admitted != 0;
    p.ended_life = life_;
  } else if (answer.state == State::gone) {
    p.pass_life = ~std::uint64_t{0};
    if (!choices_.one_in(4)) newborn(p);
  } else if (placed) {
    p.earlier = p.now;
    p.earlier_until = p.ticket_until;
    p.now.epoch = answer.epoch;
    p.now.number = answer.number;
    p.now.issued = summary_.now;
    p.ticket_life = life_;
    p.ticket_until = summary_.now + settings_.abandon_timeout + settings_.return_grace;
    if (answer.state == State::admitted) {
      p.now.admitted = answer.admitted_at;
      p.now.expires = answer.expires;
      p.pass_until = answer.expires + settings_.return_grace;
      p.pass_life = life_;
    }
  }
  return "";
}

}  // namespace fairway::room::test
