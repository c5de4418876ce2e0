// The fair queues' part of the metrics.
#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/queue_histogram.h"
#include "nginx/metrics.h"
#include "nginx/metrics_text.h"
#include "nginx/queue_worker.h"

namespace fairway::ngx {

namespace {

constexpr std::array<std::string_view, queue::kStatuses> kStatus = {"direct",  "queued",    "full",    "evicted",
                                                                    "timeout", "cancelled", "bypassed"};

struct Queue {
  std::string_view name;
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  std::uint64_t bad_costs = 0;
  queue::Totals totals;
};

std::vector<Queue> queues_of(const MainConf& conf) {
  std::vector<Queue> queues;
  for (const QueueConf* queue_conf : std::span(static_cast<QueueConf**>(conf.queues.elts), conf.queues.nelts)) {
    QueueClient* client = QueueWorker::client(*queue_conf);
    if (client == nullptr) {
      continue;
    }
    Queue queue{view(queue_conf->name)};
    queue.bad_costs = client->shared().bad_costs.load(std::memory_order_relaxed);
    client->look([&queue](const queue::FairQueue& state) {
      queue.running = state.running();
      queue.waiting = state.waiting();
      queue.totals = state.totals();
    });
    queues.push_back(queue);
  }
  return queues;
}

// Every fourth bucket, an octave each: fine enough for a graph, few enough for a store of metrics.
void write_histogram(MetricsText& text, std::string_view name, const queue::Histogram& histogram) {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i + 1 < queue::kBuckets; ++i) {
    below += histogram.counts[i];
    if (i % 4 == 1) {
      char bound[32];
      const double seconds = static_cast<double>(queue::bucket_bound(i)) / static_cast<double>(queue::kSecond);
      const auto end = std::to_chars(bound, bound + sizeof(bound), seconds).ptr;
      text.sample({{"queue", name}, {"le", {bound, static_cast<std::size_t>(end - bound)}}}, below, "_bucket");
    }
  }
  text.sample({{"queue", name}, {"le", "+Inf"}}, histogram.count, "_bucket");
  text.seconds({{"queue", name}}, static_cast<double>(histogram.sum) / static_cast<double>(queue::kSecond), "_sum");
  text.sample({{"queue", name}}, histogram.count, "_count");
}

}  // namespace

void write_queue_metrics(MetricsText& text, const MainConf& conf) {
  const std::vector<Queue> queues = queues_of(conf);
  if (queues.empty()) {
    return;
  }
  text.family("fairway_queue_running", "gauge", "Requests that hold a slot.");
  for (const Queue& queue : queues) {
    text.sample({{"queue", queue.name}}, queue.running);
  }
  text.family("fairway_queue_waiting", "gauge", "Requests that wait for a slot.");
  for (const Queue& queue : queues) {
    text.sample({{"queue", queue.name}}, queue.waiting);
  }
  text.family("fairway_queue_requests_total", "counter", "Requests by how their time in the queue ended.");
  for (const Queue& queue : queues) {
    for (std::size_t i = 0; i < kStatus.size(); ++i) {
      text.sample({{"queue", queue.name}, {"status", kStatus[i]}}, queue.totals.by_status[i]);
    }
  }
  text.family("fairway_queue_bad_costs_total", "counter", "Reported costs that were not understood.");
  for (const Queue& queue : queues) {
    text.sample({{"queue", queue.name}}, queue.bad_costs);
  }
  text.family("fairway_queue_wait_seconds", "histogram", "Time in the queue of requests that got a slot.");
  for (const Queue& queue : queues) {
    write_histogram(text, queue.name, queue.totals.waits);
  }
  text.family("fairway_queue_cost_seconds", "histogram", "Cost charged to requests that an upstream took part in.");
  for (const Queue& queue : queues) {
    write_histogram(text, queue.name, queue.totals.costs);
  }
}

}  // namespace fairway::ngx
