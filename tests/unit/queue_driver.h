// Drives a small fair queue with operations read from bytes, as several workers would, and keeps its own account of every request.
// Shared by the property test and the fuzzer. Throws std::logic_error when the queue and the account disagree.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "queue_invariants.h"

namespace fairway::queue::testing {

struct FreeBlock {
  void operator()(void* block) const noexcept { ::operator delete (block, std::align_val_t{64}); }
};

class Driver {
 public:
  Driver() : size_(FairQueue::bytes_for(kCapacity)), block_(::operator new (size_, std::align_val_t{64})) {
    const Limits limits{.concurrency = 4, .size = 6, .light_lane = 1};
    queue_ = FairQueue::create(block_.get(), size_, kCapacity, limits, {7, 9});
    require(queue_.has_value(), "made");
    for (Process& p : processes_) start(p);
  }

  void run(std::span<const std::uint8_t> bytes) {
    bytes_ = bytes;
    while (!bytes_.empty()) {
      require(queue_->enter(1, now_), "nobody died");
      step();
      queue_->leave();
      check();
    }
    end_everything();
  }

 private:
  static constexpr Capacity kCapacity{.outer_flows = 4, .inner_flows = 6, .concurrency = 6, .size = 8};

  struct Process {
    std::uint32_t worker = 0;
    std::uint64_t generation = 0;
  };
  struct Live {
    Held held;
    Handle handle = 0;
  };
  using Lives = std::map<std::uint64_t, Live>;

  std::uint8_t next() {
    if (bytes_.empty()) return 0;
    const std::uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }

  void step() {
    const std::uint8_t what = next() % 20;
    if (what < 6) {
      acquire();
    } else if (what < 10) {
      release();
    } else if (what < 11) {
      cancel();
    } else if (what < 12) {
      time_out();
    } else if (what < 14) {
      read_mail(some_process());
    } else if (what < 17) {
      pass_time();
    } else if (what < 18) {
      change_limits();
    } else if (what < 19) {
      kill_process();
    } else {
      tear();
    }
  }

  void start(Process& p) {
    const auto worker = queue_->register_worker({.pid = ++pids_, .started = 1, .mailbox = 2});
    require(worker.has_value(), "a worker is registered");
    p = {*worker, queue_->generation()};
  }

  // A process that sees a new generation registers again before anything else.
  Process& some_process() { return up_to_date(processes_[next() % processes_.size()]); }

  Process& up_to_date(Process& p) {
    if (p.generation == queue_->generation()) return p;
    for (auto& [token, live] : live_) {
      if (live.held.arrival.worker != p.worker) continue;
      live.handle = queue_->register_again(live.held, now_);
      require(live.handle != 0, "registered again");
    }
    queue_->registered(p.worker, now_);
    p.generation = queue_->generation();
    return p;
  }

  void acquire() {
    const Process& p = some_process();
    const std::uint8_t who = next();
    Arrival arrival{.worker = p.worker, .token = ++tokens_, .cost_class = who % 3U};
    const std::array<std::uint8_t, 4> address{10, 0, static_cast<std::uint8_t>(who % 7), 1};
    arrival.keys = {queue_->hash_key(), outer_key(ClientAddress::v4(address), 24, 56), who / 7U % 4U};
    const std::uint32_t waiting = queue_->waiting();
    const Decision d = queue_->acquire(arrival, now_);
    require(queue_->waiting() <= std::max(waiting, queue_->limits().size), "more wait than may");
    if (d.kind == Decision::Kind::full) {
      require(d.retry_after >= 1 && d.retry_after <= 45 && d.handle == 0, "a refusal says when to come again");
      return;
    }
    require(d.handle != 0, "a handle");
    live_[arrival.token] = {{arrival, d.kind == Decision::Kind::direct, now_, now_}, d.handle};
  }

  // A request that waits or runs, of a process that knows the present generation.
  Lives::iterator some_live(bool running) {
    std::vector<Lives::iterator> all;
    for (auto it = live_.begin(); it != live_.end(); ++it) {
      if (it->second.held.running == running) all.push_back(it);
    }
    const std::uint8_t which = next();
    if (all.empty()) return live_.end();
    const auto it = all[which % all.size()];
    for (Process& p : processes_) {
      if (p.worker == it->second.held.arrival.worker) up_to_date(p);
    }
    return it;
  }

  void release() {
    const auto it = some_live(true);
    const std::uint8_t how = next();
    if (it == live_.end()) return;
    Outcome outcome{.free = how % 5 == 0, .finished = how % 7 != 0};
    if (how % 3 == 0) outcome.cost = Nanos{how} * 37 * kMillisecond;
    const auto cost = queue_->release(it->second.handle, outcome, now_);
    require(cost.has_value() && *cost >= 0, "a running request is released");
    require(!queue_->release(it->second.handle, outcome, now_), "but only once");
    live_.erase(it);
  }

  void cancel() {
    const auto it = some_live(false);
    if (it == live_.end()) return;
    const CancelResult result = queue_->cancel(it->second.handle, now_);
    require(result == CancelResult::cancelled || result == CancelResult::evicted, "a waiting request is cancelled");
    require(queue_->cancel(it->second.handle, now_) == CancelResult::unknown, "but only once");
    live_.erase(it);
  }

  void time_out() {
    const auto it = some_live(false);
    if (it == live_.end()) return;
    const TimeoutResult result = queue_->timeout(it->second.handle, now_);
    if (result.kind == TimeoutResult::Kind::granted) {
      begin(it->second);
      return;
    }
    require(result.kind != TimeoutResult::Kind::unknown && result.retry_after >= 1, "a waiting request times out");
    live_.erase(it);
  }

  void begin(Live& live) {
    live.held.running = true;
    live.held.started = now_;
  }

  void read_mail(const Process& p) {
    while (const auto mail = queue_->next_mail(p.worker, now_)) {
      const auto it = live_.find(mail->token);
      require(it != live_.end() && it->second.handle == mail->handle && !it->second.held.running, "mail about a request that waits");
      require(it->second.held.arrival.worker == p.worker, "mail to the right worker");
      if (mail->kind == Mail::Kind::granted) {
        require(!queue_->recovering(), "nobody is called before all have registered again");
        begin(it->second);
        continue;
      }
      require(mail->retry_after >= 1, "the evicted are told when to come again");
      live_.erase(it);
    }
  }

  void pass_time() {
    static constexpr std::array<Nanos, 8> steps{kMillisecond, 20 * kMillisecond, 150 * kMillisecond, 300 * kMillisecond,
                                                2 * kSecond,  11 * kSecond,      40 * kSecond,       4000 * kSecond};
    now_ += steps[next() % steps.size()];
    queue_->tick(now_);
  }

  void change_limits() {
    const std::uint8_t how = next();
    Limits limits = queue_->limits();
    limits.concurrency = 1 + how % 6U;
    limits.light_lane = how / 6U % limits.concurrency;
    limits.size = how % 9U;
    limits.order = how % 11 == 0 ? Order::fifo : Order::fair;
    limits.probation = how % 5 != 0;
    require(queue_->set_limits(limits, now_), "valid limits");
    limits.light_lane = limits.concurrency;
    require(!queue_->set_limits(limits, now_), "a lane as wide as the queue");
  }

  void kill_process() {
    Process& p = processes_[next() % processes_.size()];
    const bool registered = p.generation == queue_->generation();
    queue_->remove_worker(p.worker, now_);
    std::erase_if(live_, [&](const auto& entry) {
      const Held& held = entry.second.held;
      if (held.arrival.worker != p.worker) return false;
      vanished_ += !held.running && !registered;  // nobody knew of it
      return true;
    });
    start(p);
  }

  // Another process dies inside a change: whatever it was writing is garbage, and its mark is found.
  void tear() {
    const std::uint8_t seed = next();
    resurrected_ += unread(State::evicted);  // their workers still take them for waiting
    auto* begin = static_cast<unsigned char*>(block_.get()) + sizeof(Header);
    const auto length = static_cast<std::size_t>(reinterpret_cast<unsigned char*>(queue_->tables().workers) - begin);
    for (std::size_t i = 0; i < 64; ++i) begin[(seed * 7919U + i * 104729U) % length] ^= seed;
    queue_->tables().heart().waiting_count += seed;
    require(!queue_->enter(2, now_), "the mark of the dead is found");
  }

  std::uint64_t unread(State state) const {
    std::uint64_t count = 0;
    for (std::uint32_t i = 0; i < request_count(kCapacity); ++i) count += queue_->tables().requests[i].state == state;
    return count;
  }

  std::uint64_t lives(bool running) const {
    std::uint64_t count = 0;
    for (const auto& [token, live] : live_) count += live.held.running == running;
    return count;
  }

  void check() {
    Invariants(*queue_).check();
    std::uint64_t ended = 0;
    for (const std::uint64_t total : queue_->totals().by_status) ended += total;
    require(ended + vanished_ + lives(false) == tokens_ + resurrected_ + unread(State::evicted), "every request ends in one status");
    const std::uint64_t running = lives(true) + unread(State::granted);
    require(queue_->recovering() || queue_->running() == running, "who runs");
    require(running <= std::max<std::uint64_t>(queue_->limits().concurrency, running_before_), "more run than may");
    running_before_ = running;
  }

  void end_everything() {
    require(queue_->enter(1, now_), "nobody died");
    for (Process& p : processes_) read_mail(up_to_date(p));
    while (!live_.empty()) {
      const Lives::iterator it = live_.begin();
      if (it->second.held.running) {
        require(queue_->release(it->second.handle, {}, now_).has_value(), "released at the end");
      } else {
        require(queue_->cancel(it->second.handle, now_) == CancelResult::cancelled, "cancelled at the end");
      }
      live_.erase(it);
      for (const Process& p : processes_) read_mail(p);
    }
    queue_->leave();
    check();
    require(queue_->running() == 0 && queue_->waiting() == 0, "empty at the end");
  }

  std::size_t size_;
  std::unique_ptr<void, FreeBlock> block_;
  std::optional<FairQueue> queue_;
  std::array<Process, 3> processes_;
  Lives live_;
  std::span<const std::uint8_t> bytes_;
  Nanos now_ = kSecond;
  std::int64_t pids_ = 0;
  std::uint64_t tokens_ = 0;
  std::uint64_t vanished_ = 0;
  std::uint64_t resurrected_ = 0;
  std::uint64_t running_before_ = 0;
};

}  // namespace fairway::queue::testing
