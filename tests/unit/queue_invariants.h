// Checks the books of a fair queue against its records: every counter, list and sum is recomputed from the requests.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <vector>

#include "core/fair_queue.h"
#include "core/light_lane.h"
#include "core/queue_tables.h"

namespace fairway::queue::testing {

inline void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

// Walks a list both ways and returns its members in order.
template <auto member, class Record>
std::vector<std::uint32_t> walk(Record* records, const List& list, std::size_t most) {
  std::vector<std::uint32_t> members;
  std::uint32_t prev = kNone;
  for (std::uint32_t i = list.first; i != kNone; i = link_of<member>(records, i).next) {
    require(members.size() < most, "a list without end");
    require(link_of<member>(records, i).prev == prev, "a broken back link");
    members.push_back(i);
    prev = i;
  }
  require(list.last == prev, "a list with a wrong end");
  return members;
}

class Invariants {
 public:
  explicit Invariants(const FairQueue& queue) : queue_(queue), t_(queue.tables()), heart_(t_.heart()) {}

  void check() {
    sort_requests();
    check_requests();
    check_flows();
    check_levels();
    check_networks();
    check_sessions();
    check_lane();
    check_nobody_waits_in_vain();
  }

 private:
  using Numbers = std::vector<std::uint32_t>;
  struct Counts {
    Numbers waiting;
    Numbers running;
  };

  static bool runs(const Request& r) { return r.state == State::running || r.state == State::granted; }
  std::size_t most() const { return request_count(queue_.capacity()); }

  void sort_requests() {
    for (std::uint32_t i = 0; i < most(); ++i) {
      const Request& r = t_.requests[i];
      if (r.state == State::unused) ++unused_;
      if (r.state == State::granted || r.state == State::evicted) mail_[r.worker].push_back(i);
      if (r.state != State::waiting && !runs(r)) continue;
      for (const std::uint32_t flow : {r.outer, r.inner})
        (r.state == State::waiting ? flows_[flow].waiting : flows_[flow].running).push_back(i);
      by_network_[r.network].push_back(i);
      if (r.session != kNone) by_session_[r.session].push_back(i);
      waiting_ += r.state == State::waiting;
      running_ += runs(r);
    }
  }

  void check_requests() {
    require(walk<&Request::inner_link>(t_.requests, heart_.free_requests, most()).size() == unused_, "free requests");
    const auto waiting = walk<&Request::outer_link>(t_.requests, heart_.waiting, most());
    require(waiting.size() == waiting_ && heart_.waiting_count == waiting_, "waiting count");
    for (std::size_t i = 1; i < waiting.size(); ++i) {
      require(t_.requests[waiting[i - 1]].arrived <= t_.requests[waiting[i]].arrived, "waiting requests out of order");
    }
    for (std::uint32_t w = 0; w < kMaxWorkers; ++w) {
      const auto mail = walk<&Request::mail_link>(t_.requests, t_.workers[w].mail, most());
      require(same(mail, mail_[w]), "mail of a worker");
      require(mail.empty() || t_.workers[w].used != 0, "mail for nobody");
    }
  }

  void check_flows() {
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      const Flow& flow = t_.flows[f];
      const Counts& counts = flows_[f];
      require(flow.waiting_count == counts.waiting.size(), "waiting count of a flow");
      require(flow.running_count == counts.running.size(), "running count of a flow");
      const bool outer = flow.level == kRootLevel;
      const auto running = outer ? walk<&Request::outer_link>(t_.requests, flow.running, most())
                                 : walk<&Request::inner_link>(t_.requests, flow.running, most());
      require(running.size() == counts.running.size(), "running requests of a flow");
      if (outer) continue;
      const auto waiting = walk<&Request::inner_link>(t_.requests, flow.waiting, most());
      require(waiting.size() == counts.waiting.size(), "waiting requests of a flow");
      for (std::size_t i = 1; i < waiting.size(); ++i) {
        require(t_.requests[waiting[i - 1]].arrived <= t_.requests[waiting[i]].arrived, "a flow out of order");
      }
    }
  }

  void check_levels() {
    std::vector<Level> sums(2 + t_.network_count());
    std::vector<Numbers> waiting(sums.size());
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      const Counts& counts = flows_[f];
      if (counts.waiting.empty() && counts.running.empty()) continue;
      const Flow& flow = t_.flows[f];
      Level& sum = sums[flow.level];
      ++sum.active;
      sum.weights += flow.weight;
      sum.running += flow.running_count;
      if (!counts.waiting.empty()) waiting[flow.level].push_back(f);
    }
    for (std::uint32_t l = 0; l < sums.size(); ++l) {
      const Level& level = t_.levels[l];
      require(level.active == sums[l].active && level.weights == sums[l].weights, "active weights of a level");
      require(level.running == sums[l].running, "running of a level");
      const auto listed = walk<&Flow::sibling>(t_.flows, level.waiting, most());
      require(same(listed, waiting[l]), "waiting flows of a level");
    }
    require(queue_.running() == running_ && queue_.waiting() == waiting_, "totals of the root");
  }

  void check_networks() {
    const std::uint32_t records = queue_.capacity().outer_flows;
    const auto idle = listed(t_.network_ages, heart_.idle_networks, records);
    for (std::uint32_t n = 0; n < t_.network_count(); ++n) {
      const Network& network = t_.networks[n];
      if (!network.used) {
        require(by_network_[n].empty(), "requests of a free network");
        continue;
      }
      std::set<std::uint32_t> keys;  // sessions
      std::uint32_t young = 0;
      for (const std::uint32_t i : by_network_[n]) {
        const Request& r = t_.requests[i];
        require(r.outer == (network.proven ? t_.network_flow(n) : kRootBucket), "request in a foreign outer flow");
        if (r.session != kNone && r.inner == t_.bucket_flow(n)) keys.insert(r.session);
        young += runs(r) && r.counts_young;
      }
      require(network.keys == keys.size(), "keys in a key bucket");
      require(network.young.running == young, "meter of the young");
      if (n >= records) continue;
      require(network.requests == by_network_[n].size(), "requests of a network");
      require(idle[network.proven ? 1 : 0][n] == (network.requests == 0) && !idle[network.proven ? 0 : 1][n], "idle list of networks");
      require(peek_network(t_, {queue_.hash_key(), network.key, 0}) == n, "network not found by its key");
    }
  }

  void check_sessions() {
    const std::uint32_t records = queue_.capacity().inner_flows;
    const auto idle = listed(t_.session_ages, heart_.idle_sessions, records);
    for (std::uint32_t s = 0; s < records; ++s) {
      const Session& session = t_.sessions[s];
      if (!session.used) continue;
      std::uint32_t running = 0;
      for (const std::uint32_t i : by_session_[s]) {
        const Request& r = t_.requests[i];
        require(r.network == session.network, "request of a session in a foreign network");
        const bool own = session.proven && t_.networks[r.network].proven;
        require((r.inner == t_.session_flow(s)) == own, "request in a foreign inner flow");
        running += runs(r);
      }
      require(session.requests == by_session_[s].size(), "requests of a session");
      require(session.own.running == running, "meter of a session");
      require(idle[session.proven ? 1 : 0][s] == (session.requests == 0) && !idle[session.proven ? 0 : 1][s], "idle list of sessions");
    }
  }

  // Which of `records` records are in which of the two idle lists.
  static std::array<std::vector<bool>, 2> listed(Age* ages, const std::array<List, 2>& idle, std::size_t records) {
    std::array<std::vector<bool>, 2> sets;
    for (std::size_t i = 0; i < idle.size(); ++i) {
      sets[i].resize(records);
      for (const std::uint32_t member : walk<&Age::link>(ages, idle[i], records)) sets[i][member] = true;
    }
    return sets;
  }

  static bool same(Numbers a, Numbers b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  }

  void check_lane() {
    const auto light = walk<&Request::light_link>(t_.requests, heart_.lane.light, most());
    require(light.size() + heart_.lane.others == running_, "lane and others");
    std::uint32_t bucket = 0;
    for (std::uint32_t i = 0; i < most(); ++i) bucket += runs(t_.requests[i]) && t_.requests[i].counts_bucket;
    require(heart_.lane.bucket.running == bucket, "meter of the root bucket");
  }

  void check_nobody_waits_in_vain() {
    if (queue_.recovering() || queue_.running() >= queue_.limits().concurrency) return;
    require(queue_.limits().order == Order::fair || waiting_ == 0, "somebody waits beside a free slot");
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      if (t_.flows[f].level == kRootLevel || flows_[f].waiting.empty()) continue;
      const Request& first = t_.requests[t_.flows[f].waiting.first];
      require(!lane_admits(t_, {first.network, first.session, first.outer}), "somebody waits beside a slot that is open to it");
    }
  }

  const FairQueue& queue_;
  const Tables& t_;
  const Heart& heart_;
  std::vector<Counts> flows_{1 + 2 * t_.network_count() + queue_.capacity().inner_flows};
  std::vector<Numbers> by_network_{t_.network_count()};
  std::vector<Numbers> by_session_{queue_.capacity().inner_flows};
  std::vector<Numbers> mail_{kMaxWorkers};
  std::size_t unused_ = 0;
  std::size_t waiting_ = 0;
  std::size_t running_ = 0;
};

}  // namespace fairway::queue::testing
