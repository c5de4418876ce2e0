// What the API tells, as tables.
#include <cstdint>
#include <vector>

#include "cli/operator_command.h"
#include "cli/table.h"

namespace fairway::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string host_and_path(const Json& attachment) {
  return attachment.at("host").get<std::string>() + attachment.at("path").get<std::string>();
}

// A setting as it would be typed.
std::string value_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return printable(value.get<std::string>());
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : " ") + printable(item.is_object() ? host_and_path(item) : value_text(item));
  return text.empty() ? "-" : text;
}

std::string count(const Json& parent, const char* key) {
  return std::to_string(parent.at(key).get<std::uint64_t>());
}

// Places kept for those who were inside before a restart; none is nothing to tell.
std::string with_reserved(const Json& room, const std::string& inside) {
  return room.at("reserved") == 0 ? inside : inside + " + " + count(room, "reserved") + " reserved";
}

std::string unsaved(const Json& settings) {
  const bool saved = settings.value("saved", true);
  return saved ? ""
               : "\nWhat operators changed is in effect but cannot be saved: it is lost when nginx is restarted. The gateway's error log "
                 "tells why.\n";
}

std::string seconds(const Json& parent, const char* key) {
  return parent.at(key).is_null() ? "-" : readable_seconds(parent.at(key).get<double>());
}

std::string store_text(const Json& store) {
  return printable(store.at("kind").get<std::string>()) + (store.at("reachable").get<bool>() ? "" : " (not reachable)");
}

std::string mode_text(const Json& room) {
  return room.at("mode").get<std::string>() + (room.at("recovering").get<bool>() ? " (recovering)" : "");
}

// Settings, and beside those that were changed at run time what nginx.conf says, if it has the room or queue.
void add_settings(Rows& rows, const Json& owner, bool in_file) {
  for (const auto& [key, value] : owner.at("settings").items()) {
    const bool changed = in_file && owner.at("file").contains(key);
    rows.push_back({printable(key), value_text(value), changed ? "(nginx.conf: " + value_text(owner.at("file").at(key)) + ")" : ""});
  }
}

std::string plain(const Rows& rows) {
  return table({{""}, {""}, {""}}, rows);
}

std::string waits_text(const Json& waits) {
  return "p50 " + seconds(waits, "p50") + ", p90 " + seconds(waits, "p90") + ", p99 " + seconds(waits, "p99");
}

std::uint64_t refused(const Json& totals) {
  std::uint64_t sum = 0;
  for (const char* key : {"full", "evicted", "timeout"}) sum += totals.at(key).get<std::uint64_t>();
  return sum;
}

std::string top_flows(const char* title, const Json& flows, bool inner) {
  std::vector<Column> columns{{"NETWORK"}};
  if (inner) columns.push_back({"SESSION"});
  for (const char* number : {"DEBT", "COST", "RUNNING", "WAITING"}) columns.push_back({number, true});
  columns.push_back({"PROVEN"});
  Rows rows;
  for (const Json& flow : flows) {
    std::vector<std::string> row{printable(flow.at("network").get<std::string>())};
    if (inner) row.push_back(printable(flow.value("session", "-")));
    row.insert(row.end(), {seconds(flow, "debt"), seconds(flow, "cost"), count(flow, "running"), count(flow, "waiting"),
                           flow.at("proven").get<bool>() ? "yes" : "no"});
    rows.push_back(std::move(row));
  }
  return std::string(title) + "\n" + (rows.empty() ? "none\n" : table(columns, rows));
}

}  // namespace

std::string room_table(const Json& rooms) {
  Rows rows;
  for (const Json& room : rooms.at("rooms")) {
    rows.push_back({room.at("name").get<std::string>(), mode_text(room), with_reserved(room, count(room, "inside")),
                    count(room.at("settings"), "capacity"), count(room, "waiting"),
                    readable_number(room.at("admissions_per_second").get<double>()), seconds(room, "eta"),
                    room.at("defined").get<std::string>(), store_text(room.at("store"))});
  }
  if (rows.empty()) return "There are no rooms.\n";
  return table({{"NAME"},
                {"MODE"},
                {"INSIDE", true},
                {"CAPACITY", true},
                {"WAITING", true},
                {"ADMITTED/S", true},
                {"ETA", true},
                {"DEFINED BY"},
                {"STORE"}},
               rows);
}

std::string room_text(const Json& room) {
  Rows rows{
      {"name", room.at("name").get<std::string>(), ""},
      {"defined by", room.at("defined").get<std::string>(), ""},
      {"mode", mode_text(room), ""},
      {"inside",
       count(room, "inside") + " of " + count(room.at("settings"), "capacity") + ", " + count(room, "granted") + " of them called", ""},
      {"reserved", count(room, "reserved"),
       room.at("reserved") == 0 ? "" : "(for those who were inside before a restart, until they are back or timed out)"},
      {"waiting", count(room, "waiting"), ""},
      {"newcomer waits", seconds(room, "eta"), ""},
      {"admitted", count(room, "admitted_total") + ", now " + readable_number(room.at("admissions_per_second").get<double>()) + " a second",
       ""},
      {"abandoned", count(room, "abandoned_total"), ""},
      {"store", store_text(room.at("store")), ""},
      {"", "", ""}};
  add_settings(rows, room, room.at("defined") == "nginx.conf");
  return plain(rows) + unsaved(room);
}

std::string queue_table(const Json& queues) {
  Rows rows;
  for (const Json& queue : queues.at("queues")) {
    const Json& totals = queue.at("totals");
    const Json& waits = queue.at("waits");
    rows.push_back({queue.at("name").get<std::string>(), count(queue, "running"), count(queue, "concurrency"), count(queue, "waiting"),
                    seconds(waits, "p50"), seconds(waits, "p90"), seconds(waits, "p99"), count(totals, "direct"), count(totals, "queued"),
                    std::to_string(refused(totals))});
  }
  if (rows.empty()) return "There are no fair queues.\n";
  return table({{"NAME"},
                {"RUNNING", true},
                {"CONCURRENCY", true},
                {"WAITING", true},
                {"P50", true},
                {"P90", true},
                {"P99", true},
                {"DIRECT", true},
                {"QUEUED", true},
                {"REFUSED", true}},
               rows);
}

std::string queue_text(const Json& queue) {
  Rows rows{
      {"name", queue.at("name").get<std::string>(), ""}, {"running", count(queue, "running") + " of " + count(queue, "concurrency"), ""},
      {"waiting", count(queue, "waiting"), ""},          {"waits", waits_text(queue.at("waits")), ""},
      {"bad costs", count(queue, "bad_costs"), ""},      {"", "", ""}};
  for (const auto& [status, total] : queue.at("totals").items()) rows.push_back({printable(status), value_text(total), ""});
  rows.push_back({"", "", ""});
  add_settings(rows, queue, true);
  Rows fixed;
  for (const auto& [key, value] : queue.at("fixed").items()) fixed.push_back({printable(key), value_text(value), ""});
  return plain(rows) + "\nonly in nginx.conf\n" + plain(fixed) + unsaved(queue);
}

std::string flows_text(const Json& flows) {
  const Json& outer = flows.at("outer");
  const Json& inner = flows.at("inner");
  return top_flows("Networks with most debt", outer.at("by_debt"), false) + "\n" +
         top_flows("Networks with most cost", outer.at("by_cost"), false) + "\n" +
         top_flows("Sessions with most debt", inner.at("by_debt"), true) + "\n" +
         top_flows("Sessions with most cost", inner.at("by_cost"), true);
}

}  // namespace fairway::cli
