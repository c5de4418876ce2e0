#include "store/valkey/router.h"

#include <algorithm>

namespace fairway::valkey {

Link* Router::find(const Route& route, Micros now) {
  if (route) return find_node(*route, Link::Purpose::data, now);
  reconnect_at_ = 0;
  if (config_.sentinel.empty()) return find_node(seed(), Link::Purpose::data, now);
  if (master_) return find_node(*master_, Link::Purpose::data, now);
  find_node(seed(), Link::Purpose::sentinel, now);
  return nullptr;
}

Link* Router::find_node(const Endpoint& node, Link::Purpose purpose, Micros now) {
  for (const auto& link : links_) {
    if (link->purpose() == purpose && link->to() == node) return link->ready() ? link.get() : nullptr;
  }
  // A sentinel that hangs must leave time to ask another one.
  const bool impatient = purpose == Link::Purpose::sentinel && config_.endpoints.size() > 1;
  const Micros patience = impatient ? std::max<Micros>(config_.timeout / 3, 1) : config_.timeout;
  links_.push_back(std::make_unique<Link>(++last_id_, node, purpose, now + patience, config_));
  return nullptr;
}

Link* Router::by_id(Link::Id id) noexcept {
  const auto found = std::ranges::find_if(links_, [id](const auto& link) { return link->id() == id; });
  return found == links_.end() ? nullptr : found->get();
}

bool Router::is_store(const Endpoint& node) const {
  return config_.sentinel.empty() ? node == seed() : master_ == node;
}

// Turns to the next endpoint. False when all of them failed in a row.
bool Router::next_source() {
  seed_ = (seed_ + 1) % config_.endpoints.size();
  master_.reset();
  if (++tries_ < config_.endpoints.size()) return true;
  tries_ = 0;
  return false;
}

std::unique_ptr<Link> Router::remove(Link::Id id) {
  const auto found = std::ranges::find_if(links_, [id](const auto& link) { return link->id() == id; });
  if (found == links_.end()) return nullptr;
  std::unique_ptr<Link> link = std::move(*found);
  links_.erase(found);
  return link;
}

Router::Loss Router::drop(Link::Id id, Failure failure, Micros now) {
  const std::unique_ptr<Link> link = remove(id);
  if (link == nullptr) return {};
  if (link->purpose() == Link::Purpose::sentinel) {
    const bool more = next_source();
    if (more) find(std::nullopt, now);
    return {id, {}, !more, false, std::string(link->message())};
  }
  const bool harmless = link->ready() && link->idle() && failure == Failure::transport;
  // An error reply of earlier says nothing of why a connection ended.
  Loss loss{id, link->to(), is_store(link->to()), harmless, failure == Failure::transport ? std::string() : std::string(link->message())};
  if (!loss.store) return loss;
  if (harmless) {
    master_.reset();
    reconnect_at_ = now + backoff_.next(jitter_);
    return loss;
  }
  const bool more = next_source();
  // What the sentinel said is out of date: the next one may know better, and whoever waits need not hear of it.
  if (!config_.sentinel.empty() && !link->ready() && more) {
    find(std::nullopt, now);
    loss.store = false;
  }
  return loss;
}

Router::Loss Router::give_up(const Route& route, Micros now) {
  const Route node = route ? route : config_.sentinel.empty() || !master_ ? Route(seed()) : master_;
  const auto found = std::ranges::find_if(links_, [&](const auto& link) { return link->to() == *node && !link->ready(); });
  if (found == links_.end()) return {0, route, !route, false, {}};
  Loss loss = drop((*found)->id(), Failure::timeout, now);
  loss.store = loss.store || !route;
  return loss;
}

void Router::found_master(Link::Id sentinel, Micros now) {
  const std::unique_ptr<Link> link = remove(sentinel);
  if (link == nullptr) return;
  master_ = link->master();
  find(std::nullopt, now);
}

const Link* Router::late(Micros now) const noexcept {
  const auto found = std::ranges::find_if(links_, [now](const auto& link) { return !link->ready() && now >= link->deadline(); });
  return found == links_.end() ? nullptr : found->get();
}

bool Router::take_reconnect(Micros now) noexcept {
  if (reconnect_at_ == 0 || now < reconnect_at_) return false;
  reconnect_at_ = 0;
  return true;
}

void Router::confirm() noexcept {
  tries_ = 0;
  backoff_.reset();
}

Micros Router::deadline() const noexcept {
  Micros earliest = reconnect_at_;
  for (const auto& link : links_) {
    if (!link->ready() && (earliest == 0 || link->deadline() < earliest)) earliest = link->deadline();
  }
  return earliest;
}

}  // namespace fairway::valkey
