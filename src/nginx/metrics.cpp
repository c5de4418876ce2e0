#include "nginx/metrics.h"

#include <charconv>
#include <span>
#include <string>
#include <vector>

#include "nginx/config.h"
#include "nginx/shared.h"
#include "nginx/worker.h"

namespace fairway::ngx {

namespace {

// Prometheus text exposition format 0.0.4. Label values here are room names and words of this code: nothing to escape.
class Text {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    family_ = name;
    for (const std::string_view part : {std::string_view("# HELP "), name, std::string_view(" "), help, std::string_view("\n# TYPE "), name,
                                        std::string_view(" "), type, std::string_view("\n")}) {
      text_ += part;
    }
  }

  struct Label {
    std::string_view name;
    std::string_view value;
  };

  void sample(std::initializer_list<Label> labels, std::uint64_t value) {
    text_ += family_;
    char before = '{';
    for (const Label& label : labels) {
      ((((text_ += before) += label.name) += "=\"") += label.value) += '"';
      before = ',';
    }
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    ((text_ += "} ") += std::string_view(digits, static_cast<std::size_t>(end - digits))) += '\n';
  }

  std::string_view view() const noexcept { return text_; }

 private:
  std::string_view family_;
  std::string text_;
};

struct Room {
  std::string_view name;
  RoomRow* row;
  room::Summary summary;
};

std::vector<Room> rooms_of(Worker& worker, const MainConf& conf) {
  std::vector<Room> rooms;
  for (const RoomConf* room : std::span(static_cast<RoomConf**>(conf.rooms.elts), conf.rooms.nelts)) {
    rooms.push_back({view(room->name), &worker.row(*room), {}});
  }
  const Lock lock(worker.zone());
  for (Room& room : rooms) {
    room.summary = room.row->summary;
  }
  return rooms;
}

template <class Value>
void per_room(Text& text, std::span<const Room> rooms, std::string_view name, std::string_view type, std::string_view help, Value value) {
  text.family(name, type, help);
  for (const Room& room : rooms) {
    text.sample({{"room", room.name}}, value(room.summary));
  }
}

void write_rooms(Text& text, std::span<const Room> rooms) {
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

void write_store(Text& text, std::span<const Room> rooms, const Shared& shared) {
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

ngx_str_t write_all(ngx_http_request_t* r) {
  Worker* worker = Worker::get();
  if (worker == nullptr) {  // no room is defined
    return str("");
  }
  Text text;
  const std::vector<Room> rooms = rooms_of(*worker, *main_conf(r));
  write_rooms(text, rooms);
  write_store(text, rooms, worker->shared());
  return copy(r->pool, text.view());
}

}  // namespace

ngx_int_t metrics_handler(ngx_http_request_t* r) noexcept {
  if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
    return NGX_HTTP_NOT_ALLOWED;
  }
  ngx_http_complex_value_t body{};
  try {
    body.value = write_all(r);
  } catch (...) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (body.value.data == nullptr) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  ngx_str_t type = str("text/plain; version=0.0.4; charset=utf-8");
  return ngx_http_send_response(r, NGX_HTTP_OK, &type, &body);
}

}  // namespace fairway::ngx
