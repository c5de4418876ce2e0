// The rooms' part of the metrics.
#include <span>
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

void write_store(MetricsText& text, std::span<const Room> rooms, const Shared& shared) {
  std::uint64_t calls = 0;
  std::uint64_t full = 0;
  for (const Room& room : rooms) {
    calls += room.row->store_calls.load(std::memory_order_relaxed);
    full += room.row->store_full.load(std::memory_order_relaxed);
  }
  text.family("fairway_store_calls_total", "counter", "Calls of the store: answered, and operations it had no memory for.");
  text.sample({{"result", "ok"}}, calls);
  text.sample({{"result", "full"}}, full);
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
  write_store(text, rooms, worker->shared());
}

}  // namespace fairway::ngx
