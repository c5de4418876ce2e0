// The command line of `fairway room …` and `fairway queue …`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/operator_command.h"

namespace fairway::cli {

// Adds the subcommands; what is typed ends up in here. Lives as long as the parser.
class OperatorOptions {
 public:
  explicit OperatorOptions(CLI::App& app);

  // What was asked for, after parsing; none when it was something else. Throws UsageError.
  std::optional<OperatorCommand> command() const;

 private:
  struct Leaf {
    const CLI::App* app;
    Verb verb;
    const char* mode;
  };

  void add_rooms(CLI::App& app);
  void add_queues(CLI::App& app);
  void add_settings(CLI::App& leaf, const char* attach_help);
  void add_evict(CLI::App& group);
  void add_delete(CLI::App& group);
  // A subcommand with the options that all have; `named`: it is about one room or queue.
  CLI::App* add(CLI::App& group, const char* name, const char* help, Verb verb, bool named = true, const char* mode = "");
  void add_count(CLI::App& leaf);
  void read_change(OperatorCommand& command) const;
  void read_eviction(OperatorCommand& command) const;

  std::vector<Leaf> leaves_;
  std::string api_, name_, sid_, network_, top_, count_;
  std::vector<std::string> settings_, attach_;
  bool json_ = false, all_ = false, line_ = false, yes_ = false;
};

}  // namespace fairway::cli
