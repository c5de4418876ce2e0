#include "cli/simulate_command.h"

#include <bit>
#include <fstream>
#include <iostream>

#include "cli/failure.h"
#include "cli/line_reader.h"
#include "cli/progress.h"
#include "cli/table.h"

namespace fairway::cli {
namespace {

void write_report(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) throw RunError("cannot write " + printable(path));
}

int tell(const std::string& text) {
  std::cout << text << std::flush;
  return std::cout ? 0 : 1;
}

sim::RoomReport play(const SimulateRoom& command) {
  Progress progress;
  const double visitors = static_cast<double>(command.plan.visitors);
  return sim::simulate_room(command.plan, [&](const sim::RoomProgress& now) {
    if (!progress.due()) return;
    progress.show(static_cast<double>(now.done) / visitors, readable_seconds(static_cast<double>(now.now) / 1e6) + " simulated, " +
                                                                std::to_string(now.arrived) + " came, " + std::to_string(now.done) +
                                                                " are done");
  });
}

int simulate_room(const SimulateRoom& command) {
  const sim::RoomReport report = play(command);
  const std::string text = room_simulation_text(command, report);
  const std::string& path = command.telling.report;
  if (!path.empty()) write_report(path, room_simulation_report(path, report, text));
  return tell(command.telling.json ? room_simulation_json(command, report).dump(2) + "\n" : text);
}

Replayed replay(const SimulateQueue& command) {
  const queue::Limits& limits = command.settings.limits;
  queue::Capacity capacity;  // as nginx.conf makes it
  capacity.concurrency = std::max(capacity.concurrency, std::bit_ceil(limits.concurrency));
  capacity.size = std::max(capacity.size, std::bit_ceil(limits.size));
  sim::QueueReplay replay(limits, capacity);
  sim::StartOrder order([&replay](const sim::PastRequest& request) { replay.add(request); });
  LineReader lines(command.access_log);
  const AccessLog log(command.settings);
  Replayed replayed;
  Progress progress;
  while (const auto line = lines.next()) {
    sim::EndedRequest ended;
    if (log.take(*line, ended, replayed.log) == LineKind::request) order.add(ended);
    if (replayed.log.lines % 4096 == 0 && progress.due()) progress.show(lines.share(), std::to_string(replayed.log.lines) + " lines read");
  }
  order.finish();
  replayed.report = replay.finish(command.top);
  return replayed;
}

int simulate_queue(const SimulateQueue& command) {
  const Replayed replayed = replay(command);
  const LogCounts& log = replayed.log;
  if (replayed.report.requests == 0) {
    const std::string what = log.lines == 0 ? "holds no lines"
                             : log.unreadable == log.lines
                                 ? "has no line of the combined format with a time at its end, nor of fairway_json"
                                 : "has no request that went to the application";
    throw RunError((command.access_log == "-" ? "standard input" : printable(command.access_log)) + " " + what);
  }
  const std::string text = queue_simulation_text(command, replayed);
  const std::string& path = command.telling.report;
  if (!path.empty()) write_report(path, queue_simulation_report(path, replayed, text));
  return tell(command.telling.json ? queue_simulation_json(command, replayed).dump(2) + "\n" : text);
}

}  // namespace

int run_simulate_command(const SimulateCommand& command) {
  return command.room ? simulate_room(*command.room) : simulate_queue(*command.queue);
}

}  // namespace fairway::cli
