// A small world around one room: two gateways, a crowd with cookies, an operator, a store that loses things. What happens next is
// chosen by a source of choices (random numbers or a fuzzer's bytes); after every call the oracle looks whether the guarantees hold.
#pragma once

#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "room_crowd.h"
#include "room_oracle.h"

namespace fairway::room::test {

class World {
 public:
  explicit World(Choices& choices);
  ~World() { state_->~RoomState(); }
  // One event and one call; "" or the guarantee that was broken.
  std::string step();
  // The last call in words, for a failure.
  std::string describe() const;
  const Tally& tally() const noexcept { return tally_; }

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
  std::string run();
  Memory up_to_date() const noexcept {
    return Memory{summary_.epoch, summary_.version, summary_.last_number, summary_.inside, summary_.waiting, false};
  }

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
  Crowd crowd_;
  std::vector<char> snapshot_;
  Summary snapshot_summary_;
  std::vector<Answer> answers_;
  Tally tally_;
};

inline World::World(Choices& choices) : choices_(choices), crowd_(choices) {
  tight_ = choices_.one_in(8);
  set_settings();
  start_anew();
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

// An empty state in the same block; a tight one has memory for few sessions.
inline void World::start_anew() {
  if (state_ != nullptr) state_->~RoomState();
  arena_ = Arena::create(block_.data(), kBlock);
  state_ = new (arena_->take_table(sizeof(RoomState))) RoomState(*arena_);
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
  crowd_.store_lost_writes();
  ++tally_.losses;
  snapshot_.clear();
  start_anew();
  oracle_.lost(Summary{});
  const bool forgotten = choices_.one_in(3);
  if (forgotten) memories_ = {};
  if (!forgotten && choices_.one_in(3)) {
    // The clock is set back at the same time; the gateways know better as long as they are up to date.
    memories_.fill(up_to_date());
    wall_ -= choices_.between(0, 3600) * kSecond;
  } else {
    wall_ = std::max({wall_, steady(), static_cast<Micros>(crowd_.last_drawn())}) + 1;
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
  crowd_.store_lost_writes();
  ++tally_.rollbacks;
  std::memcpy(block_.data(), snapshot_.data(), kBlock);
  snapshot_.clear();
  oracle_.lost(snapshot_summary_);
  memories_.fill(up_to_date());
  wall_ = std::max({wall_, steady(), static_cast<Micros>(crowd_.last_drawn())}) + 1;
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

inline std::string World::step() {
  let_time_pass();
  something_happens();
  gateway_ = choices_.below(2);
  crowd_.ask(choices_.one_in(4) ? choices_.below(6) : 1, steady(), settings_);
  return run();
}

inline std::string World::run() {
  const auto operations = crowd_.operations();
  answers_.assign(operations.size(), Answer{});
  Memory& memory = memories_[gateway_];
  told_ = memory;
  oracle_.look_before(*state_);
  const bool recovering = summary_.recovering;
  const bool cut = operations.empty() && choices_.one_in(50);
  if (cut) {
    state_->cut(wall_, settings_, memory, Cut{.line = choices_.one_in(2)}, summary_);
    crowd_.everybody_was_cut();
  } else {
    summary_ = state_->call(wall_, settings_, memory, operations, answers_);
  }
  called_at_ = wall_;
  ++tally_.calls;
  tally_.cuts += cut;
  tally_.recoveries += summary_.recovering && !recovering;
  std::string wrong = oracle_.check(*state_, Call{settings_, memory, operations, answers_, summary_, cut, tight_});
  if (wrong.empty()) wrong = crowd_.take(answers_, summary_, settings_, tally_);
  memory = up_to_date();
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
  const auto operations = crowd_.operations();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& op = operations[i];
    const Answer& a = answers_[i];
    out << "\n"
        << id_of(op.sid) << " kind " << int(op.kind) << " claim " << op.epoch << "/" << op.number << " gap " << op.gap << " -> state "
        << int(a.state) << (a.created ? " created" : "") << " number " << a.number << " rank " << a.rank;
  }
  return out.str();
}

}  // namespace fairway::room::test
