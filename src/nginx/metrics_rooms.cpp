// The rooms' part of the metrics.
#include <span>
#include <string>
#include <vector>

#include "nginx/metrics.h"
#include "nginx/metrics_text.h"
#include "nginx/shared.h"
#include "nginx/worker.h"

namespace fairway::ngx {

namespace {

struct Room {
  std::string_view name;
  RoomRow* row;
  room::Summary summary;
};

std::vector<Room> rooms_of(Worker& worker) {
  std::vector<Room> rooms;
  worker.live().follow();
  for (const RoomConf* room : worker.live().rooms()) {
    rooms.push_back({view(room->name), &worker.row(*room), {}});
  }
  const Lock lock(worker.zone());
  for (Room& room : rooms) {
    room.summary = room.row->summary;
  }
  return rooms;
}

template <class Value>
void per_room(MetricsText& text, std::span<const Room> rooms, std::string_view name, std::string_view type, std::string_view help,
              Value value) {
  text.family(name, type, help);
  for (const Room& room : rooms) {
    text.sample({{"room", room.name}}, value(room.summary));
  }
}

void write_rooms(MetricsText& text, std::span<const Room> rooms) {
  using room::Summary;
  per_room(text, rooms, "fairway_room_inside", "gauge", "Sessions inside, called ones included.",
           [](const Summary& s) { return s.inside; });
  per_room(text, rooms, "fairway_room_reserved", "gauge",
           "Places kept after a loss of the room's memory for those who were inside and are not back yet.",
           [](const Summary& s) { return s.reserved; });
  per_room(text, rooms, "fairway_room_waiting", "gauge", "Sessions in line.", [](const Summary& s) { return s.waiting; });
  per_room(text, rooms, "fairway_room_admitted_total", "counter", "Sessions let in or called since the store was made.",
           [](const Summary& s) { return s.admitted_total; });
  per_room(text, rooms, "fairway_room_abandoned_total", "counter", "Sessions that left the line without a word since the store was made.",
           [](const Summary& s) { return s.abandoned_total; });
  text.family("fairway_room_answers_total", "counter", "Requests by how the room answered them.");
  for (const Room& room : rooms) {
    for (std::size_t i = static_cast<std::size_t>(Outcome::none) + 1; i < kOutcomes; ++i) {
      text.sample({{"room", room.name}, {"state", kOutcomeNames[i]}}, room.row->answers[i].load(std::memory_order_relaxed));
    }
  }
}

void write_waits(MetricsText& text, std::span<const Room> rooms) {
  text.family("fairway_room_wait_seconds", "histogram",
              "Time from number to admission of those who came by this gateway when they were let in, also of those who need not wait.");
  for (const Room& room : rooms) {
    const WaitStats& waits = room.row->waits;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < WaitStats::kBounds.size(); ++i) {
      below += waits.counts[i].load(std::memory_order_relaxed);
      text.sample({{"room", room.name}, {"le", std::to_string(WaitStats::kBounds[i])}}, below, "_bucket");
    }
    below += waits.counts[WaitStats::kBounds.size()].load(std::memory_order_relaxed);
    text.sample({{"room", room.name}, {"le", "+Inf"}}, below, "_bucket");
    text.seconds({{"room", room.name}}, static_cast<double>(waits.sum.load(std::memory_order_relaxed)) / 1e3, "_sum");
    text.sample({{"room", room.name}}, below, "_count");
  }
}

// Calls of a shared store, by how they ended and how long they took.
void write_shared_store(MetricsText& text, const Shared& shared) {
  constexpr std::string_view kResults[] = {"ok", "full", "failed"};
  const StoreStats& stats = shared.store_stats;
  text.family("fairway_store_calls_total", "counter", "Calls of the store: answered, refused for want of memory, failed.");
  for (std::size_t i = 0; i < std::size(kResults); ++i) {
    text.sample({{"result", kResults[i]}}, stats.results[i].load(std::memory_order_relaxed));
  }
  text.family("fairway_store_call_seconds", "histogram", "Time of a call of the store, with the wait for a connection.");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < StoreStats::kBounds.size(); ++i) {
    below += stats.took[i].load(std::memory_order_relaxed);
    char bound[32];
    const auto end = std::to_chars(bound, bound + sizeof(bound), static_cast<double>(StoreStats::kBounds[i]) / 1e6).ptr;
    text.sample({{"le", {bound, static_cast<std::size_t>(end - bound)}}}, below, "_bucket");
  }
  below += stats.took[StoreStats::kBounds.size()].load(std::memory_order_relaxed);
  text.sample({{"le", "+Inf"}}, below, "_bucket");
  text.seconds({}, static_cast<double>(stats.took_sum.load(std::memory_order_relaxed)) / 1e6, "_sum");
  text.sample({}, below, "_count");
  text.family("fairway_store_breaker_open", "gauge", "1 from a failure of the store that was noticed until a probe is answered.");
  text.sample({}, shared.breaker.open() ? 1 : 0);
}

void write_memory_store(MetricsText& text, Worker& worker, std::span<const Room> rooms) {
  std::uint64_t calls = 0;
  std::uint64_t full = 0;
  for (const Room& room : rooms) {
    calls += room.row->store_calls.load(std::memory_order_relaxed);
    full += room.row->store_full.load(std::memory_order_relaxed);
  }
  text.family("fairway_store_calls_total", "counter", "Calls of the store: answered, and operations it had no memory for.");
  text.sample({{"result", "ok"}}, calls);
  text.sample({{"result", "full"}}, full);
  text.family("fairway_store_memory_bytes", "gauge", "Size of the memory store.");
  text.sample({}, worker.conf().memory);
  text.family("fairway_store_memory_free_bytes", "gauge", "Of which sessions can still take so many.");
  text.sample({}, worker.free_memory());
}

void write_tokens(MetricsText& text, const Shared& shared) {
  text.family("fairway_token_rejected_total", "counter", "Tokens shown that were not accepted.");
  for (std::size_t i = static_cast<std::size_t>(TokenError::none) + 1; i < kTokenErrors; ++i) {
    text.sample({{"reason", to_string(static_cast<TokenError>(i))}}, shared.token_errors[i].load(std::memory_order_relaxed));
  }
}

}  // namespace

void write_room_metrics(MetricsText& text) {
  Worker* worker = Worker::get();
  if (worker == nullptr) {  // there can be no room
    return;
  }
  const std::vector<Room> rooms = rooms_of(*worker);
  write_rooms(text, rooms);
  write_waits(text, rooms);
  if (worker->store() != nullptr) {
    write_shared_store(text, worker->shared());
  } else {
    write_memory_store(text, *worker, rooms);
  }
  write_tokens(text, worker->shared());
}

}  // namespace fairway::ngx
