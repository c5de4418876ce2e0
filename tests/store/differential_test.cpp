// Both stores must give equal results: the same random operations, times, settings and losses go to each, and every field of every
// answer is compared. FAIRWAY_DIFF_OPERATIONS sets how many operations (40,000; nightly 1,000,000 or more), FAIRWAY_DIFF_SEED where
// the random sequence starts; it is printed, so that a failure can be run again.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>

#include "rooms.h"

namespace fairway::test {
namespace {

using room::Kind;
using room::State;

constexpr Micros kSecond = 1'000'000;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string show(const room::Operation& o) {
  std::ostringstream out;
  out << "kind " << static_cast<int>(o.kind) << " sid " << int{o.sid.bytes[15]} + 256 * int{o.sid.bytes[14]} << " claim " << o.epoch << '/'
      << o.number << " admitted " << o.admitted << " net " << int{o.network.size} << ':' << int{o.network.bytes[2]} << " gap " << o.gap;
  return out.str();
}

std::string show(const room::Answer& a) {
  std::ostringstream out;
  out << "state " << static_cast<int>(a.state) << (a.created ? " created" : "") << (a.came_in ? " came in" : "") << " rank " << a.rank
      << " interval " << a.interval << " epoch " << a.epoch << " number " << a.number << " expires " << a.expires << " admitted "
      << a.admitted_at;
  return out.str();
}

std::string show(const room::Summary& s) {
  std::ostringstream out;
  out << "now " << s.now << " epoch " << s.epoch << " version " << s.version << " last " << s.last_number << " inside " << s.inside
      << " granted " << s.granted << " reserved " << s.reserved << " waiting " << s.waiting << " admitted " << s.admitted_total
      << " abandoned " << s.abandoned_total << (s.recovering ? " recovering" : "") << (s.more_work ? " more" : "");
  return out.str();
}

std::string show(const valkey::Response& r) {
  std::ostringstream out;
  out << show(r.summary) << '\n';
  for (const room::Answer& answer : r.answers) out << "  " << show(answer) << '\n';
  // The order in which one sweep of a cut ends sessions is left open.
  std::vector<int> sids;
  for (const room::Ended& ended : r.ended) {
    sids.push_back(int{ended.sid.bytes[15]} + 256 * int{ended.sid.bytes[14]});
    out << "  ended at " << ended.version << '\n';
  }
  std::ranges::sort(sids);
  for (const int sid : sids) out << "  ended " << sid << '\n';
  std::vector<room::CutNotice> cuts = r.cuts;
  std::ranges::sort(cuts, {}, &room::CutNotice::version);
  for (const room::CutNotice& cut : cuts) {
    out << "  cut " << int{cut.cut.network.size} << ':' << int{cut.cut.network.bytes[2]} << (cut.cut.line ? " line" : "") << " at "
        << cut.at << " number " << cut.number << " version " << cut.version << '\n';
  }
  out << "  cut " << r.cut.id << " ended " << r.cut.ended << (r.cut.done ? " done" : "") << (r.more_changes ? " more" : "");
  return out.str();
}

// How one stretch of the sequence is made: many small rooms, a few large ones that reach the bounds of work per call.
struct Shape {
  int sids;
  int batch;
  int stretch;  // calls until everything starts anew
};

class Differential {
 public:
  explicit Differential(std::uint64_t seed, Scripted& scripted) : random_(seed), scripted_(scripted) {}

  std::uint64_t operations() const { return operations_; }

  // One life of a room. False, with a report, when the stores differ.
  testing::AssertionResult run() {
    start();
    for (int i = 0; i < shape_.stretch; ++i) {
      happen();
      const valkey::Request request = compose();
      const std::string ours = show(memory_.call(request, now_));
      const valkey::Response theirs = scripted_.call(request, now_);
      if (show(theirs) != ours) return differ(i, request, ours, show(theirs));
      learn(theirs);
    }
    return testing::AssertionSuccess();
  }

 private:
  struct Visitor {
    std::uint64_t epoch = 0;
    std::uint64_t number = 0;
    Micros admitted = 0;
    Micros asked = 0;
  };

  std::uint64_t below(std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_); }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }

  void start() {
    shape_ = chance(0.12) ? Shape{900, 120, 60} : chance(0.5) ? Shape{40, 8, 120} : Shape{8, 4, 80};
    memory_.lose();
    scripted_.lose();
    memory_.mark();
    scripted_.mark();
    visitors_.assign(static_cast<std::size_t>(shape_.sids), {});
    remembered_ = {};
    older_ = {};
    cut_ = 0;
    now_ = 1'700'000'000 * kSecond + static_cast<Micros>(below(1'000'000'000'000));
    choose_settings();
  }

  void choose_settings() {
    room::Settings s;
    s.capacity = static_cast<std::uint32_t>(shape_.sids > 500 ? pick({0U, 100U, 400U, 700U}) : pick({0U, 1U, 2U, 3U, 10U}));
    if (chance(0.5)) {
      s.rate = static_cast<std::uint32_t>(pick({0U, 1U, 2U, 5U, 70U, 200U}));
      s.rate_window = pick({kSecond, 60 * kSecond});
    }
    s.session_timeout = pick({10, 60, 600}) * kSecond;
    if (chance(0.4)) s.session_max = s.session_timeout * pick({1, 2, 5}) + pick({0, 1});
    s.grant_timeout = pick({1, 5, 30}) * kSecond;
    s.abandon_timeout = pick({5, 60}) * kSecond;
    s.return_grace = pick({0, 10, 600}) * kSecond;
    s.max_waiting = static_cast<std::uint32_t>(shape_.sids > 500 ? pick({50U, 1000U}) : pick({0U, 2U, 5U, 1000U}));
    s.poll_min = pick({1, 3}) * kSecond;
    s.poll_max = s.poll_min * pick({1, 3, 10});
    s.mode = chance(0.8) ? room::Mode::normal : static_cast<room::Mode>(below(4));
    settings_ = s;
  }

  // Time passes, the operator changes things, the store loses data.
  void happen() {
    now_ += pick<Micros>({0, 1, 50, 1000, kSecond / 3, kSecond, kSecond, 2 * kSecond, 5 * kSecond, 20 * kSecond});
    if (chance(0.03)) now_ += static_cast<Micros>(below(1'300)) * kSecond;
    if (chance(0.02)) now_ -= static_cast<Micros>(below(100)) * kSecond;
    if (chance(0.04)) choose_settings();
    if (chance(0.06)) settings_.mode = static_cast<room::Mode>(below(4));
    if (chance(0.3)) settings_.mode = room::Mode::normal;
    if (chance(0.02)) {
      memory_.mark();
      scripted_.mark();
    }
    if (chance(0.008)) {
      memory_.roll_back();
      scripted_.roll_back();
    }
    if (chance(0.012)) {
      memory_.lose();
      scripted_.lose();
    }
  }

  room::Memory memory() {
    room::Memory m = chance(0.8) ? remembered_ : chance(0.5) ? older_ : room::Memory{};
    if (chance(0.02)) m.version += below(3);
    if (chance(0.01)) m.epoch += below(3);
    m.outage_ended = chance(0.03);
    return m;
  }

  room::Operation operation() {
    room::Operation o;
    const std::uint64_t n = below(visitors_.size());
    Visitor& visitor = visitors_[n];
    o.kind =
        pick({Kind::enter, Kind::enter, Kind::enter, Kind::poll, Kind::poll, Kind::heartbeat, Kind::heartbeat, Kind::release, Kind::evict});
    if ((o.kind == Kind::release || o.kind == Kind::evict) && chance(0.6)) o.kind = Kind::enter;
    for (std::size_t i = 0; i < 14; ++i) o.sid.bytes[i] = static_cast<std::uint8_t>((n * 167 + i * 31) % 256);
    o.sid.bytes[14] = static_cast<std::uint8_t>(n / 256);
    o.sid.bytes[15] = static_cast<std::uint8_t>(n % 256);
    if (chance(0.85)) {
      o.epoch = visitor.epoch;
      o.number = visitor.number;
    }
    if (chance(0.01)) o.number = visitors_[below(visitors_.size())].number;
    if (chance(0.004)) o.epoch += 1;
    if (o.kind == Kind::heartbeat || chance(0.1)) o.admitted = visitor.admitted;
    if (chance(0.02)) o.admitted = now_ + static_cast<Micros>(below(10)) * kSecond;
    if (chance(0.4)) {
      o.network.size = pick<std::uint8_t>({3, 6});
      o.network.bytes[2] = static_cast<std::uint8_t>(below(3));
    }
    o.gap = chance(0.2) ? 0 : std::max<Micros>(0, now_ - visitor.asked) * pick({0, 1, 1});
    visitor.asked = now_;
    return o;
  }

  valkey::Request compose() {
    batch_.clear();
    valkey::Request request;
    request.room = "sale";
    request.settings = settings_;
    request.memory = memory();
    if (chance(0.06)) {
      request.changes_since = pick({std::uint64_t{0}, remembered_.version, older_.version});
    } else if (cut_ != 0) {
      request.cut_id = cut_;
    } else if (shape_.sids < 200 && chance(0.012)) {  // more, and the order of sweeps would show
      request.cut = room::Cut{{}, chance(0.5)};
      if (chance(0.7)) request.cut->network.size = pick<std::uint8_t>({3, 6});
      if (request.cut->network.size != 0) request.cut->network.bytes[2] = static_cast<std::uint8_t>(below(3));
    } else {
      const std::uint64_t count = below(static_cast<std::uint64_t>(shape_.batch) + 1);
      for (std::uint64_t i = 0; i < count; ++i) batch_.push_back(operation());
    }
    operations_ += std::max<std::size_t>(batch_.size(), 1);
    request.operations = batch_;
    return request;
  }

  // Visitors keep their tokens, the gateway what it remembers.
  void learn(const valkey::Response& response) {
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      const room::Answer& answer = response.answers[i];
      Visitor& visitor = visitors_[batch_[i].sid.bytes[15] + 256U * batch_[i].sid.bytes[14]];
      if (answer.state == State::gone && chance(0.8)) visitor = {};
      if (answer.number == 0 || chance(0.05)) continue;  // a lost answer: the old token is shown again
      visitor.epoch = answer.epoch;
      visitor.number = answer.number;
      if (answer.state == State::admitted) visitor.admitted = answer.admitted_at / kSecond * kSecond;
      if (answer.state == State::admitted && chance(0.02)) visitor.epoch = visitor.number = 0;  // a pass given out in an outage
    }
    if (chance(0.05)) older_ = remembered_;
    const room::Summary& s = response.summary;
    if (chance(0.9)) remembered_ = {s.epoch, s.version, s.last_number, s.inside, s.waiting, false};
    cut_ = response.cut.id != 0 && !response.cut.done && chance(0.9) ? response.cut.id : 0;
  }

  testing::AssertionResult differ(int step, const valkey::Request& request, const std::string& ours, const std::string& theirs) {
    auto result = testing::AssertionFailure() << "call " << step << " at " << now_ << " capacity " << settings_.capacity << " rate "
                                              << settings_.rate << '/' << settings_.rate_window << " mode "
                                              << static_cast<int>(settings_.mode) << " timeouts " << settings_.session_timeout << ' '
                                              << settings_.session_max << ' ' << settings_.abandon_timeout << ' ' << settings_.return_grace
                                              << '\n'
                                              << "memory " << request.memory.epoch << ' ' << request.memory.version << ' '
                                              << request.memory.last_number << ' ' << request.memory.inside << ' ' << request.memory.waiting
                                              << (request.memory.outage_ended ? " outage" : "") << '\n';
    for (const room::Operation& o : request.operations) result << "  " << show(o) << '\n';
    return result << "memory store: " << ours << "\nscript:       " << theirs;
  }

  std::mt19937_64 random_;
  Scripted& scripted_;
  InMemory memory_;
  Shape shape_{};
  room::Settings settings_;
  std::vector<Visitor> visitors_;
  std::vector<room::Operation> batch_;
  room::Memory remembered_;
  room::Memory older_;
  std::uint64_t cut_ = 0;
  Micros now_ = 0;
  std::uint64_t operations_ = 0;
};

TEST(Differential, BothStoresGiveEqualResults) {
  const std::uint64_t wanted = from_environment("FAIRWAY_DIFF_OPERATIONS", 40'000);
  const auto clock = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  Server server;
  Scripted scripted(server);
  std::uint64_t done = 0;
  for (std::uint64_t seed = from_environment("FAIRWAY_DIFF_SEED", clock % 1'000'000'000); done < wanted; ++seed) {
    if (done == 0) std::cout << "FAIRWAY_DIFF_SEED=" << seed << std::endl;
    Differential differential(seed, scripted);
    ASSERT_TRUE(differential.run()) << "FAIRWAY_DIFF_SEED=" << seed;
    done += differential.operations();
  }
  std::cout << done << " operations" << std::endl;
}

}  // namespace
}  // namespace fairway::test
