#include "sim/start_order.h"

#include <algorithm>
#include <limits>

namespace fairway::sim {

void StartOrder::add(const EndedRequest& ended) {
  if (!second_.empty() && (second_.back().second != ended.second || second_.size() == kMost)) spread();
  second_.push_back(ended);
}

// The requests that ended in one second are taken to have ended evenly over it.
void StartOrder::spread() {
  const Nanos step = queue::kSecond / static_cast<Nanos>(second_.size());
  Nanos offset = step / 2;
  for (EndedRequest& ended : second_) {
    const Nanos end = ended.second * queue::kSecond + offset;
    offset += step;
    newest_ = std::max(newest_, end);
    ended.request.start = end - ended.took;
    held_.push(ended.request);
  }
  second_.clear();
  let_go(newest_ - kWindow, kMost);
}

void StartOrder::let_go(Nanos before, std::size_t keep) {
  while (!held_.empty() && (held_.top().start < before || held_.size() > keep)) {
    take_(held_.top());
    held_.pop();
  }
}

void StartOrder::finish() {
  if (!second_.empty()) spread();
  let_go(std::numeric_limits<Nanos>::max(), 0);
}

}  // namespace fairway::sim
