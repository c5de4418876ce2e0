// `fairway simulate …`: what a waiting room or a fair queue would do, before anybody has to stand in it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/access_log.h"
#include "operate/queue_settings.h"
#include "operate/room_settings.h"
#include "sim/queue_replay.h"
#include "sim/room_sim.h"

namespace fairway::cli {

// How it is told.
struct Telling {
  bool json = false;
  std::string report;  // absolute path of an .html or .svg file; empty: none
};

struct SimulateRoom {
  operate::RoomSettings settings;  // at the start
  sim::RoomPlan plan;
  Telling telling;
};

struct SimulateQueue {
  operate::QueueSettings settings;
  std::string access_log;  // path, `-` for standard input
  std::uint32_t top = 10;
  Telling telling;
};

struct SimulateCommand {
  std::optional<SimulateRoom> room;
  std::optional<SimulateQueue> queue;
};

// Writes to standard output, and progress to standard error when that is a terminal; returns the exit code. Throws RunError.
int run_simulate_command(const SimulateCommand& command);

// What a replay found, with what the log was like.
struct Replayed {
  sim::ReplayReport report;
  LogCounts log;
};

std::string room_simulation_text(const SimulateRoom& command, const sim::RoomReport& report);
std::string queue_simulation_text(const SimulateQueue& command, const Replayed& replayed);
nlohmann::ordered_json room_simulation_json(const SimulateRoom& command, const sim::RoomReport& report);
nlohmann::ordered_json queue_simulation_json(const SimulateQueue& command, const Replayed& replayed);

// The report as one file that needs no other: an HTML page, or the plots alone as SVG when the path ends so. `text` is what is printed.
std::string room_simulation_report(const std::string& path, const sim::RoomReport& report, const std::string& text);
std::string queue_simulation_report(const std::string& path, const Replayed& replayed, const std::string& text);

}  // namespace fairway::cli
