// The API's charts and the list of changes: counts of each second of the last 15 minutes, and the last 1,000 changes.
#include <ctime>

#include "nginx/api.h"
#include "nginx/queue_worker.h"

namespace fairway::ngx {

namespace {

struct Span {
  std::int64_t since;
  std::int64_t now;
};

// `?since=` is the last second that the caller knows.
Span span_of(const ApiCall& call) {
  const std::int64_t now = ngx_time();
  const auto since = static_cast<std::int64_t>(call.number("since", 0, 4'294'967'295, 0));
  return {std::clamp(since, now - RoomHistory::kSeconds, now), now};
}

Json begin(const Span& span) {
  return {{"from", span.since + 1}, {"to", span.now}, {"step", 1}};
}

// How far a counter went since the second before; nothing when one of the two is not known or it began anew.
Json step_of(bool known, std::uint32_t before, std::uint32_t now) {
  return known && now - before < 0x80000000U ? Json(now - before) : Json(nullptr);
}

std::string time_text(std::int64_t time) {
  const std::time_t seconds = time;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

ApiAnswer room_history(ApiCall& call) {
  const RoomConf& room = call.room();
  const Span span = span_of(call);
  std::vector<std::pair<bool, operate::RoomSample>> samples;  // one more than asked for: the counter's start
  samples.reserve(RoomHistory::kSeconds + 1);
  {
    const RoomHistory& history = call.worker.shared().histories[room.row - call.worker.shared().rooms];
    const Lock lock(call.worker.zone());
    history.each(span.since - 1, span.now, [&](std::int64_t, const operate::RoomSample* sample) {
      samples.emplace_back(sample != nullptr, sample == nullptr ? operate::RoomSample{} : *sample);
    });
  }
  Json waiting = Json::array();
  Json inside = Json::array();
  Json admissions = Json::array();
  const std::size_t asked = static_cast<std::size_t>(span.now - span.since);
  for (std::size_t i = samples.size() - std::min(asked, samples.size()); i < samples.size(); ++i) {
    const auto& [known, sample] = samples[i];
    waiting.push_back(known ? Json(sample.waiting) : Json(nullptr));
    inside.push_back(known ? Json(sample.inside) : Json(nullptr));
    admissions.push_back(i == 0 ? Json(nullptr) : step_of(known && samples[i - 1].first, samples[i - 1].second.admitted, sample.admitted));
  }
  ApiAnswer answer;
  answer.json = begin(span);
  answer.json["waiting"] = std::move(waiting);
  answer.json["inside"] = std::move(inside);
  answer.json["admissions"] = std::move(admissions);
  return answer;
}

ApiAnswer queue_history(ApiCall& call) {
  QueueClient* client = QueueWorker::client(call.queue());
  const Span span = span_of(call);
  std::vector<std::pair<bool, operate::QueueSample>> samples;
  samples.reserve(QueueHistory::kSeconds);
  client->look([&](const queue::FairQueue&) {
    client->shared().history.each(span.since, span.now, [&](std::int64_t, const operate::QueueSample* sample) {
      samples.emplace_back(sample != nullptr, sample == nullptr ? operate::QueueSample{} : *sample);
    });
  });
  ApiAnswer answer;
  answer.json = begin(span);
  const auto add = [&](const char* name, auto value) {
    Json all = Json::array();
    for (const auto& [known, sample] : samples) {
      all.push_back(known ? Json(value(sample)) : Json(nullptr));
    }
    answer.json[name] = std::move(all);
  };
  using Sample = operate::QueueSample;
  add("running", [](const Sample& sample) { return sample.running; });
  add("waiting", [](const Sample& sample) { return sample.waiting; });
  add("p50", [](const Sample& sample) { return sample.p50 / 1e3; });
  add("p90", [](const Sample& sample) { return sample.p90 / 1e3; });
  add("p99", [](const Sample& sample) { return sample.p99 / 1e3; });
  return answer;
}

ApiAnswer list_events(ApiCall& call) {
  std::vector<operate::Event> events;
  events.reserve(operate::EventRing::kEvents);
  {
    const Lock lock(call.worker.zone());
    call.worker.shared().board->events.each([&events](const operate::Event& event) { events.push_back(event); });
  }
  ApiAnswer answer;
  Json all = Json::array();
  for (const operate::Event& event : events) {
    all.push_back({{"time", time_text(event.time)}, {"what", event.what}, {"from", event.from}});
  }
  answer.json = {{"events", std::move(all)}};
  return answer;
}

}  // namespace fairway::ngx
