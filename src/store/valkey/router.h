// The connections of one worker to a store: one per node, made when needed; where the store is to be found (its address, the next
// seed of a cluster, or what a sentinel says); when to come back after a loss.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/valkey/backoff.h"
#include "store/valkey/link.h"
#include "store/valkey/url.h"

namespace fairway::valkey {

// Where a call goes: a node that a redirect named, or none: wherever the store is.
using Route = std::optional<Endpoint>;

class Router {
 public:
  Router(const Config& config, std::uint64_t seed) : config_(config), jitter_(seed) {}

  // The ready link for `route`, or nullptr while one is on its way; the first who asks sets it going.
  Link* find(const Route& route, Micros now);
  Link* by_id(Link::Id id) noexcept;
  const std::vector<std::unique_ptr<Link>>& links() const noexcept { return links_; }

  // What a loss means for the calls: those sent on `link` and those that wait for `route` fail; with `store` also those that
  // wait for no node in particular.
  struct Loss {
    Link::Id link = 0;
    Route route;
    bool store = false;
    bool harmless = false;  // nothing had been asked: no failure, the link is made again a little later
    std::string message;    // the server's words, if any
  };
  // Drops a link that failed or was closed.
  Loss drop(Link::Id id, Failure failure, Micros now);
  // Drops what is on its way to `route` and took too long.
  Loss give_up(const Route& route, Micros now);
  // A sentinel answered: go on to the master.
  void found_master(Link::Id sentinel, Micros now);

  // The link that is on its way and is late, or nullptr.
  const Link* late(Micros now) const noexcept;
  // Whether a link that was lost while nothing was asked should be made again now, before somebody has to wait for it; true once.
  bool take_reconnect(Micros now) noexcept;
  // A call was answered: the store is well.
  void confirm() noexcept;
  // When `late` or `take_reconnect` will have something to say; 0: never.
  Micros deadline() const noexcept;

  Jitter& jitter() noexcept { return jitter_; }

 private:
  std::unique_ptr<Link> remove(Link::Id id);
  const Endpoint& seed() const { return config_.endpoints[seed_]; }
  Link* find_node(const Endpoint& node, Link::Purpose purpose, Micros now);
  bool is_store(const Endpoint& node) const;
  bool next_source();

  const Config& config_;
  Jitter jitter_;
  std::vector<std::unique_ptr<Link>> links_;
  Link::Id last_id_ = 0;
  std::size_t seed_ = 0;   // the endpoint that is asked next
  std::size_t tries_ = 0;  // endpoints that failed since the store was last well
  Route master_;           // as the sentinels say
  Backoff backoff_{50'000, 5'000'000};
  Micros reconnect_at_ = 0;
};

}  // namespace fairway::valkey
