// What a simulation found, all of it.
#include <array>
#include <cmath>
#include <cstdio>

#include "cli/simulate_command.h"
#include "cli/simulate_values.h"
#include "operate/settings_json.h"

namespace fairway::cli {
namespace {

using Json = nlohmann::ordered_json;
using sim::Histogram;

double seconds(double micros) {
  return std::round(micros / 1e3) / 1e3;
}

Json waits_json(const Histogram& waits) {
  return {{"count", waits.count()},
          {"p50", seconds(waits.quantile(0.5))},
          {"p90", seconds(waits.quantile(0.9))},
          {"p99", seconds(waits.quantile(0.99))},
          {"mean", seconds(waits.mean())},
          {"longest", seconds(static_cast<double>(waits.longest()))}};
}

Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * 1e4) / 1e4;
}

Json series_json(const sim::Series& series) {
  Json values = Json::array();
  for (const double value : series.points()) values.push_back(rounded(value));
  return {{"most", series.most()}, {"mean", rounded(series.mean())}, {"seconds", series.seconds()}, {"values", std::move(values)}};
}

Json outcomes_json(const sim::Outcomes& o) {
  return {{"stayed", o.stayed},
          {"cut_short", o.cut_short},
          {"left_silently", o.left_silently},
          {"left_politely", o.left_politely},
          {"turned_away", o.turned_away},
          {"still_inside", o.still_inside},
          {"still_waiting", o.still_waiting},
          {"still_outside", o.still_outside}};
}

Json plan_json(const sim::RoomPlan& plan) {
  const auto length = [](const sim::Duration& d) {
    return Json{{"shape", shape_name(d.shape)}, {"seconds", seconds(static_cast<double>(d.mean))}};
  };
  return {{"visitors", plan.visitors},
          {"over", seconds(static_cast<double>(plan.over))},
          {"arrivals", arrivals_name(plan.arrivals)},
          {"stay", length(plan.stay)},
          {"click", seconds(static_cast<double>(plan.click))},
          {"sign_out", plan.sign_out},
          {"leave_silently", plan.silent},
          {"leave_politely", plan.polite},
          {"patience", length(plan.patience)},
          {"hidden", plan.hidden},
          {"bots", plan.bots.count},
          {"changes", plan.changes.size()},
          {"seed", plan.seed}};
}

Json fate_json(const Histogram& waits, std::uint64_t refused) {
  Json json = waits_json(waits);
  json["refused"] = refused;
  return json;
}

Json order_json(const sim::OrderReport& order) {
  return {{"waits", waits_json(order.waits)},
          {"full", order.full},
          {"evicted", order.evicted},
          {"timeout", order.timed_out},
          {"most_running", order.most_running},
          {"most_waiting", order.most_waiting},
          {"light", fate_json(order.light.waits, order.light.refused)},
          {"heavy", fate_json(order.heavy.waits, order.heavy.refused)}};
}

Json clients_json(const std::vector<sim::ClientRecord>& records, bool sessions) {
  Json all = Json::array();
  for (const sim::ClientRecord& record : records) {
    std::array<char, kMaxOuterKeyText> network{};
    Json one{{"network", std::string(network.data(), print(record.key.network, network))}};
    std::array<char, 17> session{};
    std::snprintf(session.data(), session.size(), "%016llx", static_cast<unsigned long long>(record.key.session));
    if (sessions) one["session"] = session.data();
    one["requests"] = record.requests;
    one["seconds"] = rounded(record.surely());
    one["fifo"] = fate_json(record.fates[0].waits, record.fates[0].refused);
    one["fair"] = fate_json(record.fates[1].waits, record.fates[1].refused);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Json room_simulation_json(const SimulateRoom& command, const sim::RoomReport& report) {
  Json json{{"settings", operate::settings_json(operate::room_fields(), command.settings, {})},
            {"plan", plan_json(command.plan)},
            {"seconds", seconds(static_cast<double>(report.length))},
            {"visitors", report.arrived},
            {"outcomes", outcomes_json(report.outcomes)},
            {"direct", report.direct},
            {"busy_answers", report.busy},
            {"sent_back", report.sent_back},
            {"waits", waits_json(report.waits)}};
  json["line"] = series_json(report.waiting);
  json["line"]["most"] = report.most_waiting;
  json["inside"] = series_json(report.inside);
  json["inside"]["most"] = report.most_inside;
  json["admissions"] = series_json(report.admissions);
  json["store_calls"] = series_json(report.calls);
  json["store_calls"]["total"] = report.store_calls;
  json["grants"] = {
      {"called", report.called},
      {"wasted", report.wasted},
      {"wasted_share", report.called == 0 ? Json(0) : rounded(static_cast<double>(report.wasted) / static_cast<double>(report.called))},
      {"passed_over", report.passed_over},
      {"lost_places", report.lost_places}};
  const sim::EstimateErrors& e = report.estimates;
  json["estimates"] = {{"judged", e.count},
                       {"untold", e.untold},
                       {"p50_error", e.count == 0 ? Json() : rounded(e.error(0.5))},
                       {"p90_error", e.count == 0 ? Json() : rounded(e.error(0.9))}};
  json["bots"] = {{"sessions", report.bot_sessions},
                  {"let_in", report.bots_let_in},
                  {"entries_refused", report.bot_entries_refused},
                  {"polls_refused", report.bot_polls_refused}};
  return json;
}

Json queue_simulation_json(const SimulateQueue& command, const Replayed& replayed) {
  const sim::ReplayReport& report = replayed.report;
  return {{"settings", operate::settings_json(operate::queue_fields(), command.settings, {})},
          {"lines", replayed.log.lines},
          {"unreadable", replayed.log.unreadable},
          {"first_unreadable", replayed.log.first_unreadable},
          {"without_upstream", replayed.log.without_upstream},
          {"requests", report.requests},
          {"disordered", report.disordered},
          {"seconds", rounded(static_cast<double>(report.last - report.first) / 1e9)},
          {"service_seconds", rounded(report.service)},
          {"fifo", order_json(report.fifo)},
          {"fair", order_json(report.fair)},
          {"all_clients", report.clients},
          {"heavy_clients", report.heavy_clients},
          {"heavy_seconds", rounded(report.heavy_service)},
          {"clients", clients_json(report.sessions, true)},
          {"networks", clients_json(report.networks, false)}};
}

}  // namespace fairway::cli
