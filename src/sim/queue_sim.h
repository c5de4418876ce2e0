// Plays clients against a fair queue on a virtual clock: a discrete-event simulation over the very code that the gateway runs.
// Deterministic for a seed. Times in ns; nothing here reads a clock, sleeps or does I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/fair_queue.h"

namespace fairway::sim {

using queue::Nanos;

struct Range {  // uniform between the two
  Nanos low = 0;
  Nanos high = 0;
};

// Clients that behave alike. Each connection sends a request, waits for the answer, thinks, and sends the next one.
struct Clients {
  enum class Keys : std::uint8_t {
    fixed,        // each session keeps its key
    per_request,  // a new key with each request (new cookie, user agent)
    per_pair,     // a new key after a cheap first request (1 ms) and `pair_length` further ones
    per_network,  // a new network and key with each request
  };
  std::string name;
  std::uint32_t networks = 1;       // /24s of their own
  std::uint32_t first_network = 0;  // number of the first; groups may share networks
  std::uint32_t sessions = 1;       // in each network
  std::uint32_t connections = 1;    // of each session
  Keys keys = Keys::fixed;
  std::uint32_t pair_length = 1;
  Range service;               // how long a request runs at the upstream
  Range think;                 // between an answer and the next request
  Range begin;                 // when a connection sends its first request
  Nanos end = 0;               // no request is sent from here on; 0: until the run ends
  std::uint32_t requests = 0;  // each connection sends so many, then stops; 0: no limit
  std::uint32_t parts = 0;     // pages: the connections of a session fetch so many parts together, then it thinks
  bool give_up = false;        // a refused request is lost; else it is sent again after `pause`, or as told
  bool obeys = false;          // comes again when Retry-After says
  Range pause;
  double reported = 0;  // the application reports this multiple of the real time as the cost; 0: nothing
  std::uint64_t cost_class = 1;
  std::optional<std::uint32_t> worker;  // all at this one; else spread over the workers
};

// What became of a group. Requests that were sent before the warm-up ended do not count.
struct Outcome {
  std::string name;
  std::vector<Nanos> waits;  // of requests served, in no order
  std::vector<Nanos> pages;  // time per page
  std::uint64_t sent = 0;
  std::uint64_t served = 0;
  std::uint64_t full = 0;
  std::uint64_t evicted = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t first_retries = 0;  // refused requests that came again for the first time
  std::uint64_t first_retries_refused = 0;
  std::uint64_t unserved = 0;               // connections that were never served
  Nanos slot_time = 0;                      // after the warm-up
  std::vector<Nanos> slot_time_by_window;   // from the start of the run
  std::vector<Nanos> slot_time_by_session;  // after the warm-up

  // Adds what became of the same group in another run.
  void add(const Outcome& other);
  std::uint64_t failed() const noexcept { return full + evicted + timed_out; }
  // Quantile of the waits, ns; a failure counts as a wait of 10 s.
  Nanos wait(double quantile) const;
  Nanos page(double quantile) const;
};

struct Settings {
  queue::Limits limits;
  queue::Capacity capacity{.outer_flows = 4096, .inner_flows = 16384, .concurrency = 64, .size = 512};
  std::uint32_t workers = 1;
  Nanos length = 60 * queue::kSecond;
  Nanos warm_up = 5 * queue::kSecond;
  Nanos window = 2 * queue::kSecond;
  Nanos wake_delay = 0;  // until a worker reads its mail
  std::uint64_t seed = 1;
};

struct Report {
  std::vector<Outcome> groups;
  std::uint32_t most_running = 0;
  std::uint32_t most_waiting = 0;
  Nanos slot_time = 0;  // of all, after the warm-up

  const Outcome& operator[](const std::string& name) const;
  void add(const Report& other);  // another run of the same clients
};

// (Σx)² ÷ (n Σx²): 1 when all are equal, 1/n when one has everything.
double jain(const std::vector<Nanos>& values);

Report simulate(const Settings& settings, const std::vector<Clients>& clients);

}  // namespace fairway::sim
