// What `watch` shows.
#include <algorithm>
#include <optional>

#include "cli/sparkline.h"
#include "cli/table.h"
#include "cli/watch.h"

namespace fairway::cli {
namespace {

std::string count(const Json& parent, const char* key) {
  return std::to_string(parent.at(key).get<std::uint64_t>());
}

std::string seconds(const Json& value) {
  return value.is_null() ? "-" : readable_seconds(value.get<double>());
}

// A title, the number of now, and as much of the history as fits.
std::string bars(const char* title, const std::string& now, const Json& numbers, std::size_t columns) {
  const std::string head = pad_right(title, 13) + pad_left(now, 9) + "  ";
  std::vector<std::optional<double>> values;
  for (const Json& number : numbers) values.push_back(number.is_null() ? std::nullopt : std::optional(number.get<double>()));
  return head + sparkline(values, columns > head.size() ? columns - head.size() : 0);
}

std::string waits(const Json& queue) {
  const Json& told = queue.at("waits");
  return "waits p50 " + seconds(told.at("p50")) + "  p90 " + seconds(told.at("p90")) + "  p99 " + seconds(told.at("p99"));
}

std::string inside(const Json& room) {
  return "inside " + count(room, "inside") + " of " + count(room.at("settings"), "capacity") +
         (room.at("reserved") == 0 ? "" : ", " + count(room, "reserved") + " reserved");
}

std::string admissions(const Json& room) {
  return readable_number(room.at("admissions_per_second").get<double>());
}

}  // namespace

std::vector<std::string> room_view(const Json& room, const Json& history, std::size_t columns) {
  return {"room " + printable(room.at("name").get<std::string>()) + "  " + printable(room.at("mode").get<std::string>()) +
              (room.at("recovering").get<bool>() ? " (recovering)" : "") + "  " + inside(room) + ", " + count(room, "granted") +
              " called  newcomer waits " + seconds(room.at("eta")) +
              (room.at("store").at("reachable").get<bool>() ? "" : "  STORE NOT REACHABLE"),
          "", bars("waiting", count(room, "waiting"), history.at("waiting"), columns),
          bars("inside", count(room, "inside"), history.at("inside"), columns),
          bars("admissions/s", admissions(room), history.at("admissions"), columns)};
}

std::vector<std::string> queue_view(const Json& queue, const Json& history, std::size_t columns) {
  return {"queue " + printable(queue.at("name").get<std::string>()) + "  running " + count(queue, "running") + " of " +
              count(queue, "concurrency") + "  " + waits(queue),
          "", bars("running", count(queue, "running"), history.at("running"), columns),
          bars("waiting", count(queue, "waiting"), history.at("waiting"), columns)};
}

std::string room_line(const Json& room) {
  return room.at("name").get<std::string>() + "  " + room.at("mode").get<std::string>() + "  " + inside(room) + "  waiting " +
         count(room, "waiting") + "  admissions/s " + admissions(room);
}

std::string queue_line(const Json& queue) {
  return queue.at("name").get<std::string>() + "  running " + count(queue, "running") + " of " + count(queue, "concurrency") +
         "  waiting " + count(queue, "waiting") + "  " + waits(queue);
}

}  // namespace fairway::cli
