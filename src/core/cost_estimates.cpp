#include "core/cost_estimates.h"

#include <algorithm>
#include <cmath>

namespace fairway::queue {
namespace {

constexpr std::size_t kWays = 4;  // places a class may be in; a full set forgets its least recently learned class

CostClass* set_of(const Tables& t, std::uint64_t id) noexcept {
  const std::uint64_t mixed = (id * 0x9e3779b97f4a7c15) >> 32;
  return t.classes + mixed % (kCostClasses / kWays) * kWays;
}

Nanos class_maximum(const Tables& t, std::uint64_t id) noexcept {
  const CostClass* set = set_of(t, id);
  const CostClass* found = std::find_if(set, set + kWays, [id](const CostClass& c) { return c.maximum != 0 && c.id == id; });
  return found == set + kWays ? 0 : decayed(found->maximum, t.now() - found->at, kClassHalfLife);
}

void learn_class(Tables& t, std::uint64_t id, Nanos cost) noexcept {
  CostClass* set = set_of(t, id);
  CostClass* place = std::find_if(set, set + kWays, [id](const CostClass& c) { return c.maximum != 0 && c.id == id; });
  if (place == set + kWays) place = std::min_element(set, set + kWays, [](const auto& a, const auto& b) { return a.at < b.at; });
  const Nanos known = place->id == id ? decayed(place->maximum, t.now() - place->at, kClassHalfLife) : 0;
  *place = {id, std::max({known, cost, Nanos{1}}), t.now()};
}

}  // namespace

Nanos decayed(Nanos value, Nanos elapsed, Nanos half_life) noexcept {
  if (elapsed <= 0 || value == 0) return value;
  return static_cast<Nanos>(static_cast<float>(value) * std::exp2(-static_cast<float>(elapsed) / static_cast<float>(half_life)));
}

Nanos estimate(const Tables& t, std::uint32_t network, std::uint32_t session, std::uint64_t cost_class) noexcept {
  Nanos own = 0;
  if (network != kNone) own = t.networks[network].average;
  if (session != kNone && t.sessions[session].average != 0) own = t.sessions[session].average;
  return std::clamp(std::max(own, class_maximum(t, cost_class)), kLeastEstimate, kMostEstimate);
}

void learn_cost(Tables& t, const Request& request, Nanos cost) noexcept {
  Network& network = t.networks[request.network];
  network.average = network.average == 0 ? cost : averaged(network.average, cost);
  if (request.session != kNone) {
    Session& session = t.sessions[request.session];
    session.average = session.average == 0 ? cost : averaged(session.average, cost);
  }
  learn_class(t, request.cost_class, cost);
}

}  // namespace fairway::queue
