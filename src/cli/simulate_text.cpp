// What a simulation found, in words.
#include <cmath>
#include <optional>
#include <vector>

#include "cli/simulate_command.h"
#include "cli/simulate_values.h"
#include "cli/sparkline.h"
#include "cli/table.h"

namespace fairway::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using sim::Histogram;
using sim::Series;

constexpr std::size_t kBars = 60;

std::string number(std::uint64_t count) {
  return std::to_string(count);
}

std::string percent(double share) {
  if (!std::isfinite(share)) return "-";
  return readable_number(share * 100) + "%";
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return percent(whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole));
}

std::string at(const Histogram& times, double quantile) {
  return readable_seconds(times.quantile(quantile) / 1e6);
}

std::string waits_of(const Histogram& times) {
  return "p50 " + at(times, 0.5) + ", p90 " + at(times, 0.9) + ", p99 " + at(times, 0.99) + ", longest " +
         readable_seconds(static_cast<double>(times.longest()) / 1e6);
}

// The whole series in so many bars, each the mean of what it stands for.
std::string bars(const Series& series) {
  const std::vector<double>& points = series.points();
  std::vector<std::optional<double>> values;
  const std::size_t columns = std::min(kBars, points.size());
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t begin = i * points.size() / columns;
    const std::size_t end = (i + 1) * points.size() / columns;
    double sum = 0;
    for (std::size_t k = begin; k < end; ++k) sum += points[k];
    values.emplace_back(sum / static_cast<double>(end - begin));
  }
  return sparkline(values, columns);
}

void add_outcomes(Rows& rows, const sim::RoomReport& report) {
  const sim::Outcomes& o = report.outcomes;
  const std::uint64_t in = report.waits.count();
  rows.push_back({"came in", number(in) + " (" + percent(in, report.arrived) + "), " + number(report.direct) + " of them at once"});
  if (o.left_silently + o.left_politely != 0)
    rows.push_back({"left the line", number(o.left_silently + o.left_politely) + ", " + number(o.left_silently) + " without a word"});
  if (report.busy != 0)
    rows.push_back(
        {"line was full", number(report.busy) + " busy answers, " + number(o.turned_away) + " visitors gave up without a place"});
  if (report.busy == 0 && o.turned_away != 0) rows.push_back({"turned away", number(o.turned_away) + " gave up without a place"});
  if (o.cut_short != 0)
    rows.push_back({"cut short", number(o.cut_short) + " by session_max, or by being away for longer than return_grace"});
  if (report.sent_back != 0)
    rows.push_back({"sent back", number(report.sent_back) + " were idle for session_timeout and stood in line again"});
  if (o.still_inside + o.still_waiting + o.still_outside != 0)
    rows.push_back({"at the end", number(o.still_inside) + " inside, " + number(o.still_waiting) + " in line, " + number(o.still_outside) +
                                      " without a place"});
  rows.push_back({"waits", waits_of(report.waits)});
}

std::string errors_of(const sim::EstimateErrors& e) {
  std::string told;
  if (std::isfinite(e.error(0.5))) told += "half of them within " + percent(e.error(0.5));
  if (std::isfinite(e.error(0.9))) told += ", nine of ten within " + percent(e.error(0.9));
  if (!told.empty()) told += " of the true ones ";
  const std::string untold = e.untold == 0 ? "" : ", " + number(e.untold) + " of them \"not known yet\"";
  return told + "(" + number(e.count) + " judged" + untold + ")";
}

void add_grants(Rows& rows, const sim::RoomReport& report) {
  rows.push_back({"called", number(report.called) + ", " + number(report.wasted) + " of them (" + percent(report.wasted, report.called) +
                                ") were not there; passed over though they were: " + number(report.passed_over)});
  const sim::EstimateErrors& e = report.estimates;
  if (e.count != 0) rows.push_back({"shown waits", errors_of(e)});
  rows.push_back({"store", readable_number(report.calls.mean()) + " calls a second, at most " + readable_number(report.calls.most())});
  if (report.no_memory != 0) rows.push_back({"", number(report.no_memory) + " times the simulated store was full"});
}

void add_bots(Rows& rows, const SimulateRoom& command, const sim::RoomReport& report) {
  if (command.plan.bots.count == 0) return;
  rows.push_back({"bots", number(report.bot_sessions) + " sessions, " + number(report.bots_let_in) + " let in; refused: " +
                              number(report.bot_entries_refused) + " entries, " + number(report.bot_polls_refused) + " questions"});
}

void add_bars(Rows& rows, const char* title, const Series& series) {
  rows.push_back({title, bars(series)});
}

std::string order_row(const Histogram& times, double quantile) {
  return times.count() == 0 ? "-" : at(times, quantile);
}

void add_order(Rows& rows, const std::string& who, const char* order, const Histogram& waits, std::uint64_t refused) {
  const std::uint64_t all = waits.count() + refused;
  rows.push_back({who, order, order_row(waits, 0.5), order_row(waits, 0.9), order_row(waits, 0.99),
                  waits.count() == 0 ? "-" : readable_seconds(static_cast<double>(waits.longest()) / 1e6), number(refused),
                  percent(refused, all)});
}

std::string network_text(const OuterKey& key) {
  std::array<char, kMaxOuterKeyText> text{};
  return {text.data(), print(key, text)};
}

std::string session_text(std::uint64_t session) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(session));
  return text.data();
}

std::string clients_table(const char* title, const std::vector<sim::ClientRecord>& records, double service, bool sessions) {
  std::vector<Column> columns{{"NETWORK"}};
  if (sessions) columns.push_back({"SESSION"});
  for (const char* name : {"REQUESTS", "TIME", "SHARE", "P90 FIFO", "P90 FAIR", "REFUSED FIFO", "REFUSED FAIR"})
    columns.push_back({name, true});
  Rows rows;
  for (const sim::ClientRecord& record : records) {
    std::vector<std::string> row{network_text(record.key.network)};
    if (sessions) row.push_back(session_text(record.key.session));
    row.insert(row.end(), {number(record.requests), readable_seconds(record.surely()), percent(service > 0 ? record.surely() / service : 0),
                           order_row(record.fates[0].waits, 0.9), order_row(record.fates[1].waits, 0.9), number(record.fates[0].refused),
                           number(record.fates[1].refused)});
    rows.push_back(std::move(row));
  }
  return std::string(title) + "\n" + table(columns, rows);
}

std::string unreadable_text(const LogCounts& log) {
  if (log.unreadable == 0) return "";
  std::string text = "could not be read: " + number(log.unreadable) + (log.unreadable == 1 ? " line (" : " lines (");
  for (std::size_t i = 0; i < log.first_unreadable.size(); ++i) text += (i == 0 ? "" : ", ") + number(log.first_unreadable[i]);
  return text + (log.unreadable > log.first_unreadable.size() ? ", ...)\n" : ")\n");
}

}  // namespace

std::string room_simulation_text(const SimulateRoom& command, const sim::RoomReport& report) {
  const sim::RoomPlan& plan = command.plan;
  Rows rows;
  rows.push_back({"visitors", number(report.arrived) + " in " + readable_seconds(static_cast<double>(plan.over) / 1e6) + ", " +
                                  arrivals_name(plan.arrivals) + "; all over after " +
                                  readable_seconds(static_cast<double>(report.length) / 1e6)});
  add_outcomes(rows, report);
  rows.push_back({"line", "at most " + number(report.most_waiting) + ", mean " + readable_number(report.waiting.mean())});
  rows.push_back({"inside", "at most " + number(report.most_inside) + " of " + number(plan.settings.capacity) + ", mean " +
                                readable_number(report.inside.mean())});
  add_grants(rows, report);
  add_bots(rows, command, report);
  rows.push_back({"", ""});
  add_bars(rows, "line", report.waiting);
  add_bars(rows, "inside", report.inside);
  add_bars(rows, "let in", report.admissions);
  return table({{""}, {""}}, rows);
}

std::string queue_simulation_text(const SimulateQueue& command, const Replayed& replayed) {
  const sim::ReplayReport& report = replayed.report;
  const double length = std::max(1e-9, static_cast<double>(report.last - report.first) / 1e9);
  const double load = report.service / length / command.settings.limits.concurrency;
  std::string text = number(report.requests) + " requests in " + readable_seconds(length) + "; " +
                     number(command.settings.limits.concurrency) + " slots would be busy " + percent(load) + " of the time\n";
  if (replayed.log.without_upstream != 0) text += "needed no slot: " + number(replayed.log.without_upstream) + " lines\n";
  text += unreadable_text(replayed.log);
  if (report.disordered != 0)
    text += "longer than the window or out of order: " + number(report.disordered) + " requests, taken to start later\n";
  Rows rows;
  add_order(rows, "all", "fifo", report.fifo.waits, report.fifo.refused());
  add_order(rows, "", "fair", report.fair.waits, report.fair.refused());
  add_order(rows, "light clients", "fifo", report.fifo.light.waits, report.fifo.light.refused);
  add_order(rows, "", "fair", report.fair.light.waits, report.fair.light.refused);
  add_order(rows, "heavy clients", "fifo", report.fifo.heavy.waits, report.fifo.heavy.refused);
  add_order(rows, "", "fair", report.fair.heavy.waits, report.fair.heavy.refused);
  text +=
      "\n" +
      table({{"WAITS"}, {"ORDER"}, {"P50", true}, {"P90", true}, {"P99", true}, {"LONGEST", true}, {"REFUSED", true}, {"", true}}, rows);
  text += "\nheavy: " + number(report.heavy_clients) + " of " + number(report.clients) +
          " clients, who took more than the mean and together " + percent(report.service > 0 ? report.heavy_service / report.service : 0) +
          " of the time; light: all others\n";
  text += "\n" + clients_table("Clients that took most time", report.sessions, report.service, true);
  return text + "\n" + clients_table("Networks that took most time", report.networks, report.service, false);
}

}  // namespace fairway::cli
