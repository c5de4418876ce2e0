// How good the estimated wait is: a line on a virtual clock is served in several ways while part of it gives up; each estimate
// told after two minutes is compared with how long that waiter then really waited. The median error must be within a fifth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "core/pacing.h"

namespace fairway::test {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double exponential(double mean) { return -mean * std::log1p(-unit()); }
  double pareto(double mean, double shape) { return mean * (shape - 1) / shape / std::pow(1 - unit(), 1 / shape); }
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(unit() * static_cast<double>(end)); }

 private:
  std::mt19937_64 engine_;
};

// How many places become free in second t.
using Service = std::function<unsigned(int t)>;

Service constant(double rate) {
  return [=](int t) { return static_cast<unsigned>(std::floor(rate * t) - std::floor(rate * (t - 1))); };
}

// Random gaps; the rate is changed by `factor` at `step`.
Service random_gaps(double rate, Random& random, int step = std::numeric_limits<int>::max(), double factor = 1) {
  return [=, &random, next = 0.0](int t) mutable {
    unsigned count = 0;
    while (next <= t) {
      next += random.exponential(1 / (t > step ? rate * factor : rate));
      ++count;
    }
    return count;
  };
}

// All at once every `period` seconds, as a limit of N a minute or a first crowd that came in together makes it.
Service beats(double rate, int period, int step = std::numeric_limits<int>::max(), double factor = 1) {
  return [=](int t) { return t % period == 0 ? static_cast<unsigned>(rate * period * (t > step ? factor : 1)) : 0u; };
}

// Busy and idle times of random length, 3 s in the mean. (With longer ones what the next minutes bring is itself a matter of chance.)
Service on_and_off(double rate, Random& random) {
  return [=, &random, until = 0.0, on = false, next = 0.0](int t) mutable {
    unsigned count = 0;
    while (next <= t) {
      if (next > until) {
        on = !on;
        until = next + random.exponential(3);
        if (!on) next = until;
      } else {
        ++count;
      }
      next += random.exponential(1 / (2 * rate));
    }
    return count;
  };
}

// A hundred places and stays of very different lengths (Pareto, shape 1.5).
Service heavy_tail(double rate, Random& random) {
  constexpr int kPlaces = 100;
  const double mean = kPlaces / rate;
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  for (int i = 0; i < kPlaces; ++i) ends.push(random.pareto(mean, 1.5) * random.unit());
  return [=, &random](int t) mutable {
    unsigned count = 0;
    for (; ends.top() <= t; ++count) {
      const double end = ends.top();
      ends.pop();
      ends.push(end + random.pareto(mean, 1.5));
    }
    return count;
  };
}

struct Waiter {
  int joined;
  double gives_up;  // infinite: stays
  bool in_line = false;
  int admitted = -1;
};

struct Told {
  int at;
  std::size_t waiter;
  std::optional<std::uint32_t> wait;
};

class Crowd {
 public:
  Crowd(double rate, double leavers, int first_wait, int seconds, Random& random) : random_(random) {
    const double joining = rate / (1 - leavers);
    for (int t = 0; t <= seconds; ++t) {
      const double count = t == 0 ? joining * first_wait : std::floor(joining * t) - std::floor(joining * (t - 1));
      for (int i = 0; i < static_cast<int>(count); ++i) {
        const bool stays = random_.unit() >= leavers;
        waiters_.push_back({t, stays ? std::numeric_limits<double>::infinity() : t + random_.unit() * first_wait});
      }
    }
  }

  void second(int t, unsigned places) {
    for (; joined_ < waiters_.size() && waiters_[joined_].joined <= t; ++joined_) waiters_[joined_].in_line = true;
    for (std::size_t i = head_; i < joined_; ++i) {
      if (waiters_[i].in_line && waiters_[i].gives_up + kNoticed < t) leave(i);
    }
    for (; head_ < joined_ && places > 0; ++head_) {
      Waiter& next = waiters_[head_];
      if (!next.in_line) continue;
      if (next.gives_up < t) {
        leave(head_);
        continue;
      }
      next.in_line = false;
      next.admitted = t;
      ++admitted_;
      --places;
    }
    estimate_.sample(Micros{t} * 1'000'000, admitted_, abandoned_, static_cast<std::uint32_t>(in_line(joined_)));
  }

  // Tells a few of those in line, chosen at random, how long they will wait.
  void tell(int t) {
    for (int i = 0; i < 20 && head_ < joined_; ++i) {
      const std::size_t one = head_ + random_.below(joined_ - head_);
      if (waiters_[one].in_line && std::isinf(waiters_[one].gives_up)) told_.push_back({t, one, estimate_.wait(in_line(one) + 1, 0)});
    }
  }

  // Relative errors of what was told to those who came in, ten seconds later or more.
  std::vector<double> errors() const {
    std::vector<double> errors;
    for (const Told& told : told_) {
      const double waited = waiters_[told.waiter].admitted - told.at;
      if (waited < 10) continue;
      errors.push_back(told.wait.has_value() ? std::abs(*told.wait - waited) / waited : std::numeric_limits<double>::infinity());
    }
    return errors;
  }

 private:
  static constexpr int kNoticed = 90;  // s until the store drops one who no longer asks

  void leave(std::size_t i) {
    waiters_[i].in_line = false;
    ++abandoned_;
  }
  std::size_t in_line(std::size_t end) const {
    return static_cast<std::size_t>(std::count_if(waiters_.begin() + static_cast<std::ptrdiff_t>(head_),
                                                  waiters_.begin() + static_cast<std::ptrdiff_t>(end),
                                                  [](const Waiter& waiter) { return waiter.in_line; }));
  }

  Random& random_;
  std::vector<Waiter> waiters_;
  std::vector<Told> told_;
  std::size_t head_ = 0;
  std::size_t joined_ = 0;
  std::uint64_t admitted_ = 0;
  std::uint64_t abandoned_ = 0;
  RateEstimator estimate_;
};

constexpr double kRate = 2;  // per second
constexpr int kStep = 400;   // s

struct Case {
  std::string name;
  std::function<Service(Random&)> service;
  int from = 120;  // estimates told between these seconds are judged
  int until = 500;
};

const std::vector<Case> kCases = {
    {"constant", [](Random&) { return constant(kRate); }},
    {"random gaps", [](Random& random) { return random_gaps(kRate, random); }},
    {"beats of 10 s", [](Random&) { return beats(kRate, 10); }},
    {"beats of 60 s", [](Random&) { return beats(kRate, 60); }},
    {"on and off", [](Random& random) { return on_and_off(kRate, random); }},
    {"heavy tail", [](Random& random) { return heavy_tail(kRate, random); }},
    {"falls to a half", [](Random& random) { return random_gaps(kRate, random, kStep, 0.5); }, kStep + 120, kStep + 300},
    {"falls to a fifth", [](Random& random) { return random_gaps(kRate, random, kStep, 0.2); }, kStep + 120, kStep + 300},
    {"doubles", [](Random& random) { return random_gaps(kRate, random, kStep, 2); }, kStep + 120, kStep + 300},
    {"beats that fall to a half", [](Random&) { return beats(kRate, 10, kStep, 0.5); }, kStep + 120, kStep + 300},
};

std::vector<double> errors_of(const Case& test, double leavers, std::uint64_t seed) {
  constexpr int kSeconds = 3000;
  Random random(seed);
  const Service service = test.service(random);
  Crowd crowd(kRate, leavers, test.from > kStep ? 1500 : 600, kSeconds, random);
  for (int t = 1; t <= kSeconds; ++t) {
    crowd.second(t, service(t));
    if (t >= test.from && t < test.until && t % 10 == 0) crowd.tell(t);
  }
  return crowd.errors();
}

void PrintTo(const Case& test, std::ostream* out) {
  *out << test.name;
}

class WaitForecast : public testing::TestWithParam<Case> {};

TEST_P(WaitForecast, MedianErrorIsWithinAFifth) {
  const Case& test = GetParam();
  for (const double leavers : {0.0, 0.2, 0.5}) {
    std::vector<double> errors;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const std::vector<double> more = errors_of(test, leavers, seed);
      errors.insert(errors.end(), more.begin(), more.end());
    }
    ASSERT_GT(errors.size(), 300u);
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::nth_element(errors.begin(), middle, errors.end());
    EXPECT_LE(*middle, 0.2) << leavers << " of the waiters leave";
    RecordProperty("median_error_percent_at_" + std::to_string(std::lround(leavers * 100)), static_cast<int>(std::lround(*middle * 100)));
  }
}

INSTANTIATE_TEST_SUITE_P(Services, WaitForecast, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace fairway::test
