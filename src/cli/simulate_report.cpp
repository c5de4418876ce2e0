// What a simulation found, in pictures.
#include <algorithm>

#include "cli/chart.h"
#include "cli/report.h"
#include "cli/simulate_command.h"

namespace fairway::cli {
namespace {

Curve over_time(const char* name, const sim::Series& series) {
  Curve curve{name, {}, series.points()};
  for (std::size_t i = 0; i < curve.y.size(); ++i) curve.x.push_back(static_cast<double>(i * series.seconds()));
  return curve;
}

// Share of the waits that are at most so long, up to `most` seconds.
Curve distribution(const char* name, const sim::Histogram& waits, double most) {
  constexpr int kPoints = 200;
  Curve curve{name, {}, {}};
  for (int i = 0; i <= kPoints; ++i) {
    const double second = most * i / kPoints;
    curve.x.push_back(second);
    curve.y.push_back(waits.share_until(static_cast<std::int64_t>(second * 1e6)));
  }
  return curve;
}

double nearly_longest(const sim::Histogram& waits) {
  return std::max(waits.quantile(0.995) / 1e6, 0.001);
}

void replace(std::string& text, const std::string& mark, const std::string& by) {
  const std::size_t at = text.find(mark);
  text.replace(at, mark.size(), by);
}

std::string in_form(const std::string& path, const std::string& title, const std::vector<Chart>& charts, const std::string& text) {
  if (path.ends_with(".svg")) return charts_svg(title, charts);
  std::string page(report_page());
  replace(page, "{{title}}", escaped(title));
  replace(page, "{{title}}", escaped(title));
  replace(page, "{{charts}}", charts_svg("", charts));
  replace(page, "{{text}}", escaped(text));
  return page;
}

}  // namespace

std::string room_simulation_report(const std::string& path, const sim::RoomReport& report, const std::string& text) {
  const std::vector<Chart> charts{
      {"In line", false, {over_time("", report.waiting)}},
      {"Inside", false, {over_time("", report.inside)}},
      {"Let in per second", false, {over_time("", report.admissions)}},
      {"Store calls per second", false, {over_time("", report.calls)}},
      {"Share of visitors who were in after so long", true, {distribution("", report.waits, nearly_longest(report.waits))}}};
  return in_form(path, "A crowd at a waiting room", charts, text);
}

std::string queue_simulation_report(const std::string& path, const Replayed& replayed, const std::string& text) {
  const sim::ReplayReport& report = replayed.report;
  const auto both = [](const char* title, const sim::Histogram& fifo, const sim::Histogram& fair) {
    const double most = std::max(nearly_longest(fifo), nearly_longest(fair));
    return Chart{title, true, {distribution("fifo", fifo, most), distribution("fair", fair, most)}};
  };
  return in_form(path, "An access log at a fair queue",
                 {both("Light clients: share of requests that ran after so long", report.fifo.light.waits, report.fair.light.waits),
                  both("Heavy clients: the same", report.fifo.heavy.waits, report.fair.heavy.waits),
                  both("All: the same", report.fifo.waits, report.fair.waits)},
                 text);
}

}  // namespace fairway::cli
