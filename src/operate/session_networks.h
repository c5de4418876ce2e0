// Notices a session that is seen from many networks: its cookies have been passed on. A bounded table of the sessions seen lately; plain
// data for shared memory (all zero: empty); the caller locks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace fairway::operate {

class SessionNetworks {
 public:
  static constexpr std::size_t kMost = 8;         // networks of an honest session: home, office, telephone, …
  static constexpr std::int64_t kForget = 3'600;  // s without a sign of it
  static constexpr std::size_t kSets = 1'024;     // of kWays sessions
  static constexpr std::size_t kWays = 4;

  // `session` and `network`: keyed hashes, so that nobody can choose their places. `now`: s of any clock, above 0. True when this is one
  // network more than kMost, once a session.
  bool see(std::uint64_t session, std::uint32_t network, std::int64_t now) noexcept {
    auto& set = sets_[session % kSets];
    auto found = std::ranges::find_if(set, [&](const Entry& entry) { return entry.session == session && now - entry.seen < kForget; });
    if (found == set.end()) {
      found = std::ranges::min_element(set, {}, &Entry::seen);
      *found = Entry{session, now, 0, {}};
    }
    found->seen = now;
    const auto end = found->networks.begin() + std::min<std::size_t>(found->count, kMost);
    if (found->count > kMost || std::find(found->networks.begin(), end, network) != end) {
      return false;
    }
    if (found->count < kMost) {
      found->networks[found->count] = network;
    }
    return ++found->count > kMost;
  }

 private:
  struct Entry {
    std::uint64_t session;
    std::int64_t seen;
    std::uint32_t count;  // kMost + 1: told
    std::array<std::uint32_t, kMost> networks;
  };
  std::array<std::array<Entry, kWays>, kSets> sets_;
};

}  // namespace fairway::operate
