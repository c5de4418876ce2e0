// Overrides that do not fit the settings they stand over: what an operator set once may not be allowed any more when nginx.conf has
// changed, or at a gateway with another nginx.conf.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "operate/adjustments.h"

namespace fairway::operate {

using Places = std::vector<std::size_t>;

// The fewest of `count` things, by place, without which the others fit; of as many the first ones. `fits` is told who is away. All of them
// when more than three would have to go: there are fewer rules about settings together than that.
Places fewest_to_go(std::size_t count, const std::function<bool(const Places& away)>& fits);

// The overrides that cannot stand over `file`, and why: each that is not allowed by itself, and of those that contradict each other or the
// file as few as will do. `check` tells what is wrong with all settings together. May throw std::bad_alloc.
template <class Conf, class Check>
std::vector<Problem> unfit(std::span<const Field<Conf>> fields, const Conf& file, const Overrides& overrides, const Check& check) {
  std::vector<Problem> all;
  Overrides good;
  for (const auto& entry : overrides) {
    Conf conf = file;
    if (auto problem = apply(fields, Overrides{entry}, conf)) {
      all.push_back({entry.first, std::move(problem->detail)});
    } else if (!entry.second.over) {
      good.insert(entry);
    }
  }
  const auto problem_without = [&](const Places& away) -> std::optional<Problem> {
    Overrides rest = good;
    for (const std::size_t place : away) {
      rest.erase(std::next(good.begin(), static_cast<std::ptrdiff_t>(place))->first);
    }
    Conf conf = file;
    auto problem = apply(fields, rest, conf);
    return problem ? problem : check(conf);
  };
  if (const auto problem = problem_without({})) {
    for (const std::size_t place : fewest_to_go(good.size(), [&](const Places& away) { return !problem_without(away); })) {
      all.push_back({std::next(good.begin(), static_cast<std::ptrdiff_t>(place))->first, problem->detail});
    }
  }
  return all;
}

}  // namespace fairway::operate
