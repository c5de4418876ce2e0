// Requests of the past against a fair queue on a virtual clock: the same requests at the same times once in the order of their
// arrival and once shared fairly, side by side. Whoever is refused does not come again, since the log does not tell what it would
// have done. Memory is that of the queue and of two tables of clients, whatever the number of requests.
//
// Times in ns of one clock. Nothing here reads a clock, sleeps or does I/O.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "core/fair_queue.h"
#include "sim/client_table.h"
#include "sim/histogram.h"

namespace fairway::sim {

using queue::Nanos;

struct PastRequest {
  Nanos start = 0;    // when it arrived
  Nanos service = 0;  // how long the application took
  ClientKey client;
};

// How the requests of one order ended.
struct OrderReport {
  Histogram waits;  // of those that got a slot, µs
  std::uint64_t full = 0;
  std::uint64_t evicted = 0;
  std::uint64_t timed_out = 0;
  std::uint32_t most_running = 0;
  std::uint32_t most_waiting = 0;
  Fate light, heavy;

  std::uint64_t refused() const noexcept { return full + evicted + timed_out; }
};

struct ReplayReport {
  std::uint64_t requests = 0;
  Nanos first = 0;  // arrivals
  Nanos last = 0;
  double service = 0;            // s, of all requests
  std::uint64_t disordered = 0;  // came after a later one and were taken to arrive at its time
  OrderReport fifo, fair;
  std::uint64_t clients = 0;  // at most: one that was forgotten and came again counts twice
  // Heavy are those who took more than the mean of all clients, light all others.
  std::uint64_t heavy_clients = 0;
  double heavy_service = 0;            // s, at least
  std::vector<ClientRecord> sessions;  // those of most cost, most first; fates: fifo, fair
  std::vector<ClientRecord> networks;
};

class QueueReplay {
 public:
  // What became of a request, when it is known: its number (0 is the first), whether it has run, how long it waited.
  using Watch = std::function<void(queue::Order order, std::uint64_t request, bool ran, Nanos waited)>;

  // `limits.order` does not matter. Throws std::invalid_argument when the limits are not valid.
  QueueReplay(const queue::Limits& limits, const queue::Capacity& capacity, Watch watch = {});
  ~QueueReplay();

  // In the order of their starts.
  void add(const PastRequest& request);
  // To the end of the last request; names at most `top` clients.
  ReplayReport finish(std::size_t top);

 private:
  class Run;

  ClientTable sessions_;
  ClientTable networks_;
  std::array<std::unique_ptr<Run>, 2> runs_;  // fifo, fair
  ReplayReport report_;
};

}  // namespace fairway::sim
