// The command line of `fairway simulate …`. A room's and a queue's settings have the names and the values of their directives.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/simulate_command.h"
#include "operate/field.h"

namespace fairway::cli {

// Adds the subcommands; what is typed ends up in here. Lives as long as the parser.
class SimulateOptions {
 public:
  explicit SimulateOptions(CLI::App& app);

  // What was asked for, after parsing; none when it was something else. Throws UsageError.
  std::optional<SimulateCommand> command() const;

 private:
  void add_room(CLI::App& group);
  void add_queue(CLI::App& group);
  void add_telling(CLI::App& leaf);
  template <class Conf, class Names>
  void read_settings(std::span<const operate::Field<Conf>> fields, const Names& names, Conf& settings) const;
  SimulateRoom read_room() const;
  void read_crowd(sim::RoomPlan& plan) const;
  void read_changes(SimulateRoom& command) const;
  SimulateQueue read_queue() const;
  Telling read_telling() const;
  // The value of a flag; empty: not given.
  const std::string& value(const std::string& flag) const { return values_.at(flag); }
  void option(CLI::App& leaf, const std::string& flag, const char* type, const std::string& help);

  CLI::App* room_ = nullptr;
  CLI::App* queue_ = nullptr;
  std::map<std::string, std::string> values_;  // by flag; of both subcommands, since only one is parsed
  std::vector<std::string> changes_;
  bool json_ = false;
};

}  // namespace fairway::cli
