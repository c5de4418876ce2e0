// A log has its requests in the order in which they ended, to the second; a replay needs them in the order in which they began.
// Requests wait in a window of bounded size until nothing that may still come could have begun before them.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/queue_replay.h"

namespace fairway::sim {

struct EndedRequest {
  std::int64_t second = 0;  // of the Unix clock, in which it ended
  Nanos took = 0;           // from its arrival to its end
  PastRequest request;      // its start is set here
};

class StartOrder {
 public:
  using Take = std::function<void(const PastRequest&)>;

  explicit StartOrder(Take take) : take_(std::move(take)) {}

  void add(const EndedRequest& ended);
  void finish();

 private:
  static constexpr std::size_t kMost = 500'000;           // requests held
  static constexpr Nanos kWindow = 300 * queue::kSecond;  // longer requests may come out of order

  struct Later {
    bool operator()(const PastRequest& a, const PastRequest& b) const noexcept { return a.start > b.start; }
  };

  void spread();
  void let_go(Nanos before, std::size_t keep);

  Take take_;
  std::vector<EndedRequest> second_;  // those of the newest second
  std::priority_queue<PastRequest, std::vector<PastRequest>, Later> held_;
  Nanos newest_ = 0;
};

}  // namespace fairway::sim
