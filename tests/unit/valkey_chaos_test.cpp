// The promise of the client to its callers, whatever the other side does: everybody is answered exactly once, nobody later than the
// timeout, and once a failure is noticed no call is begun for the pause but one probe.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

class Chaos {
 public:
  Chaos(std::uint64_t seed, std::vector<std::string_view> words) : random_(seed), rig_(std::move(words)) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      act();
      rig_.advance();
      check();
    }
    // The other side falls silent: all that is left is answered when its time is over.
    for (int i = 0; !asked_.empty(); ++i) {
      RC_ASSERT(i < 100 && rig_.client.deadline() > rig_.now);
      rig_.advance(rig_.client.deadline() - rig_.now);
      check();
    }
    RC_ASSERT(rig_.client.deadline() == 0 || rig_.client.deadline() > rig_.now);
  }

 private:
  std::uint64_t below(std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_); }

  void act() {
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        submit();
        break;
      case 3:
        pass_time();
        break;
      case 4:
        rig_.client.refresh(static_cast<RoomId>(below(3)), rig_.now);
        break;
      default:
        other_side();
    }
  }

  void submit() {
    const std::uint64_t id = ++last_id_;
    asked_[id] = rig_.now;
    if (below(20) == 0) {
      rig_.client.cut(id, static_cast<RoomId>(below(3)), {}, rig_.now);
    } else {
      rig_.submit(id, static_cast<RoomId>(below(3)));
    }
  }

  // Never beyond the moment at which the client wants to be called, as a timer would not be.
  void pass_time() {
    const Micros jump = static_cast<Micros>(below(4) == 0 ? below(4'000'000) : below(60'000));
    const Micros deadline = rig_.client.deadline();
    rig_.now = deadline == 0 ? rig_.now + jump : std::clamp(rig_.now + jump, rig_.now, std::max(deadline, rig_.now));
  }

  void other_side() {
    const auto& links = rig_.client.links();
    if (links.empty()) return;
    Link& link = *links[below(links.size())];
    if (link.state() == Link::State::connecting) {
      below(5) == 0 ? rig_.client.closed(link.id(), rig_.now) : rig_.client.opened(link.id());
      return;
    }
    if (below(12) == 0) {
      rig_.client.closed(link.id(), rig_.now);
      return;
    }
    const auto commands = rig_.sent_by(link);
    std::string bytes;
    for (const Command& command : commands) bytes += reply_to(command);
    if (below(15) == 0) bytes += "+stray\r\n";
    if (below(15) == 0) bytes.resize(bytes.size() / 2);
    rig_.client.received(link.id(), bytes, rig_.now);
  }

  std::string reply_to(const Command& command) {
    if (command.name() == "SENTINEL")
      return below(4) == 0 ? "*-1\r\n" : "*2\r\n$4\r\nnode\r\n$1\r\n" + std::to_string(1 + below(3)) + "\r\n";
    if (command.name() == "ROLE") return below(4) == 0 ? "*1\r\n$5\r\nslave\r\n" : "*1\r\n$6\r\nmaster\r\n";
    if (!command.is_call()) return "+OK\r\n";
    switch (below(14)) {
      case 0:
        return "-NOSCRIPT x\r\n";
      case 1:
        return "-MOVED 1 node:" + std::to_string(1 + below(3)) + "\r\n";
      case 2:
        return "-ASK 1 node:" + std::to_string(1 + below(3)) + "\r\n";
      case 3:
        return "-TRYAGAIN x\r\n";
      case 4:
        return "-OOM x\r\n";
      case 5:
        return below(2) == 0 ? "-LOADING x\r\n" : "-ERR x\r\n";
      case 6:
        return below(2) == 0 ? "$5\r\nhello\r\n" : "*1\r\n*1\r\n:1\r\n";
      default:
        return Rig::good_reply(command);
    }
  }

  void check() {
    for (const Completion& done : rig_.client.take_completions()) {
      const auto asked = asked_.find(done.id);
      RC_ASSERT(asked != asked_.end());  // exactly once
      RC_ASSERT(rig_.now <= asked->second + kTimeout);
      asked_.erase(asked);
    }
    for (const Report& report : rig_.client.take_reports()) RC_ASSERT(report.took <= kTimeout);
    for (const auto& [id, since] : asked_) RC_ASSERT(rig_.now < since + kTimeout);
  }

  std::mt19937_64 random_;
  Rig rig_;
  std::map<std::uint64_t, Micros> asked_;
  std::uint64_t last_id_ = 0;
};

RC_GTEST_PROP(ValkeyChaos, EverybodyIsAnsweredOnceAndInTime, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto shape = *rc::gen::inRange(0, 3);
  std::vector<std::string_view> words{"valkey://:p@node:1"};
  if (shape == 1) words = {"valkey://node:1", "valkey://node:2"};
  if (shape == 2) words = {"valkey://:p@s:1", "valkey://s:2", "valkey://s:3", "sentinel=shop"};
  Chaos(seed, words).run(400);
}

}  // namespace
}  // namespace fairway::valkey::test
