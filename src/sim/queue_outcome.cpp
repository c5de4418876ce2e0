// What became of the clients of a simulation.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/queue_sim.h"

namespace fairway::sim {
namespace {

using queue::kSecond;

Nanos quantile_of(std::vector<Nanos> values, double quantile) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(quantile * static_cast<double>(values.size())));
  const std::size_t index = std::min(values.size(), std::max<std::size_t>(rank, 1)) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
  return values[index];
}

}  // namespace

void Outcome::add(const Outcome& other) {
  waits.insert(waits.end(), other.waits.begin(), other.waits.end());
  pages.insert(pages.end(), other.pages.begin(), other.pages.end());
  for (auto member : {&Outcome::sent, &Outcome::served, &Outcome::full, &Outcome::evicted, &Outcome::timed_out, &Outcome::first_retries,
                      &Outcome::first_retries_refused, &Outcome::unserved}) {
    this->*member += other.*member;
  }
  slot_time += other.slot_time;
  for (std::size_t i = 0; i < slot_time_by_window.size(); ++i) slot_time_by_window[i] += other.slot_time_by_window[i];
  for (std::size_t i = 0; i < slot_time_by_session.size(); ++i) slot_time_by_session[i] += other.slot_time_by_session[i];
}

void Report::add(const Report& other) {
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].add(other.groups[i]);
  most_running = std::max(most_running, other.most_running);
  most_waiting = std::max(most_waiting, other.most_waiting);
  slot_time += other.slot_time;
}

Nanos Outcome::wait(double quantile) const {
  std::vector<Nanos> values = waits;
  values.insert(values.end(), failed(), 10 * kSecond);
  return quantile_of(std::move(values), quantile);
}

Nanos Outcome::page(double quantile) const {
  return quantile_of(pages, quantile);
}

const Outcome& Report::operator[](const std::string& name) const {
  for (const Outcome& group : groups) {
    if (group.name == name) return group;
  }
  throw std::out_of_range(name);
}

double jain(const std::vector<Nanos>& values) {
  double sum = 0;
  double squares = 0;
  for (const Nanos value : values) {
    const auto x = static_cast<double>(value);
    sum += x;
    squares += x * x;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace fairway::sim
