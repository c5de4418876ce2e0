// The API's fair queues: what they do, whom they serve, and changes of their numbers.
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "nginx/api.h"
#include "nginx/queue_worker.h"

namespace fairway::ngx {

namespace {

using operate::Adjustments;
using operate::Overrides;
using operate::QueueSettings;

constexpr std::string_view kStatus[queue::kStatuses] = {"direct", "queued", "full", "evicted", "timeout", "cancelled", "bypassed"};
constexpr std::uint64_t kMostFlows = 100;

double seconds(queue::Nanos time) noexcept {
  return std::round(static_cast<double>(time) / 1e6) / 1e3;
}

Json settings_of(Worker& worker, const QueueConf& queue) {
  return operate::settings_json(operate::queue_fields(), static_cast<const QueueSettings&>(queue), worker.live().adjustment(queue));
}

std::string etag_of_queue(Worker& worker, const QueueConf& queue) {
  return etag_of(settings_of(worker, queue));
}

// What only nginx.conf can set.
Json fixed_of(const QueueConf& queue) {
  const auto names = [](const ngx_array_t* list) {
    Json all = Json::array();
    for (const ngx_str_t& name : std::span(static_cast<const ngx_str_t*>(list->elts), list->nelts)) {
      all.push_back(view(name));
    }
    return all;
  };
  return {{"outer_flows", queue.capacity.outer_flows},      {"inner_flows", queue.capacity.inner_flows},
          {"inner_cookies", names(queue.inner_cookies)},    {"inner_headers", names(queue.inner_headers)},
          {"most_concurrency", queue.capacity.concurrency}, {"most_size", queue.capacity.size}};
}

Json queue_json(Worker& worker, const QueueConf& queue) {
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  queue::Percentiles waits;
  std::array<std::uint64_t, queue::kStatuses> by_status{};
  QueueClient* client = QueueWorker::client(queue);
  if (client != nullptr) {
    client->look([&](const queue::FairQueue& state) {
      running = state.running();
      waiting = state.waiting();
      waits = state.wait_percentiles();
      by_status = state.totals().by_status;
    });
  }
  Json totals = Json::object();
  for (std::size_t i = 0; i < queue::kStatuses; ++i) {
    totals[std::string(kStatus[i])] = by_status[i];
  }
  return {
      {"name", view(queue.name)},
      {"concurrency", queue.limits.concurrency},
      {"running", running},
      {"waiting", waiting},
      {"totals", std::move(totals)},
      {"waits", {{"p50", seconds(waits.p50)}, {"p90", seconds(waits.p90)}, {"p99", seconds(waits.p99)}}},
      {"bad_costs", client == nullptr ? 0 : client->shared().bad_costs.load(std::memory_order_relaxed)},
      {"settings", settings_of(worker, queue)},
      {"file", operate::file_json(operate::queue_fields(), worker.live().adjustment(queue))},
      {"saved", worker.settings_saved()},
      {"fixed", fixed_of(queue)},
  };
}

ApiAnswer answer_of(Worker& worker, const QueueConf& queue) {
  ApiAnswer answer;
  answer.json = queue_json(worker, queue);
  answer.etag = etag_of_queue(worker, queue);
  return answer;
}

void refuse(const std::optional<operate::Problem>& problem) {
  if (problem) {
    throw Refusal{422, problem->detail + ".", problem->field};
  }
}

// What the body says, over `overrides`; tells what changed.
std::string take_body(const Json& body, const QueueConf& queue, const QueueSettings& file, Overrides& overrides) {
  for (const auto& [name, value] : body.items()) {
    const auto* field = operate::find_field(operate::queue_fields(), name);
    if (field == nullptr) {
      const bool fixed = name == "bypass" || fixed_of(queue).contains(name);
      throw Refusal{422, fixed ? "\"" + name + "\" can be set in nginx.conf only." : "There is no setting of that name.", name};
    }
    const bool follows = field->name == "light_lane" && !file.lane_set;  // from concurrency, which may be changed as well
    refuse(operate::take(*field, value, file, follows, overrides));
  }
  QueueSettings after = file;
  refuse(operate::apply(operate::queue_fields(), overrides, after));
  refuse(operate::check_together(after));
  refuse(operate::check_capacity(after, queue.capacity));
  std::string told;
  for (const auto& field : operate::queue_fields()) {
    if (const auto now = field.get(after); now != field.get(queue)) {
      told += (told.empty() ? "" : ", ") + std::string(field.name) + " " + field.get(queue) + " → " + now;
    }
  }
  return told;
}

Json flows_json(QueueClient& client, bool sessions, queue::TopBy by, std::size_t most) {
  std::vector<queue::FlowInfo> flows(most);
  client.look([&](const queue::FairQueue& state) { flows.resize(state.top(by, sessions, flows)); });
  Json all = Json::array();
  for (const queue::FlowInfo& flow : flows) {
    char outer[kMaxOuterKeyText];
    Json one = {{"network", std::string_view(outer, print(flow.outer, outer))}};
    if (sessions) {
      char inner[17];
      std::snprintf(inner, sizeof(inner), "%016" PRIx64, flow.inner);
      one["session"] = inner;
    }
    one["debt"] = seconds(flow.debt);
    one["cost"] = seconds(flow.cost);
    one["running"] = flow.running;
    one["waiting"] = flow.waiting;
    one["proven"] = flow.proven;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

ApiAnswer list_queues(ApiCall& call) {
  ApiAnswer answer;
  Json queues = Json::array();
  Json tags = Json::array();
  for (const QueueConf* queue : call.worker.live().queues()) {
    queues.push_back(queue_json(call.worker, *queue));
    tags.push_back(etag_of_queue(call.worker, *queue));
  }
  answer.json = {{"queues", std::move(queues)}};
  answer.etag = etag_of(tags);
  return answer;
}

ApiAnswer show_queue(ApiCall& call) {
  return answer_of(call.worker, call.queue());
}

ApiAnswer put_queue(ApiCall& call) {
  const QueueConf& queue = call.queue();
  const auto edit = [&queue](ApiCall& its, Adjustments& all) -> std::vector<std::string> {
    its.check_match(etag_of_queue(its.worker, queue));
    const std::string name(its.name);
    Overrides& overrides = all.queues[name];
    const std::string told = take_body(its.body, queue, its.worker.live().file(queue), overrides);
    if (overrides.empty()) {
      all.queues.erase(name);
    }
    return {"queue " + name + ": " + told};
  };
  return change(call, edit, [&queue](ApiCall& its) { return answer_of(its.worker, queue); });
}

ApiAnswer show_flows(ApiCall& call) {
  QueueClient* client = QueueWorker::client(call.queue());
  const auto most = static_cast<std::size_t>(call.number("top", 1, kMostFlows, 20));
  ApiAnswer answer;
  const auto both = [&](bool sessions) -> Json {
    return {{"by_debt", flows_json(*client, sessions, queue::TopBy::debt, most)},
            {"by_cost", flows_json(*client, sessions, queue::TopBy::cost, most)}};
  };
  answer.json = {{"outer", both(false)}, {"inner", both(true)}};
  return answer;
}

}  // namespace fairway::ngx
