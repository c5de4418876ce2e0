// The command line and the environment, made into settings. Every flag of `run` has an environment variable: FAIRWAY_ and its name in
// capitals. The flag wins.
#pragma once

#include <optional>
#include <string>

#include "cli/keys.h"
#include "cli/operator_command.h"
#include "cli/settings.h"
#include "cli/simulate_command.h"

namespace fairway::cli {

struct KeysNew {
  std::string output;  // empty: standard output
};

struct KeysRotate {
  std::string file;
  Place place = Place::first;
};

// What is to be done; at most one is set. None: `text` is to be printed (help, version, completion).
struct Command {
  std::optional<RunSettings> run;
  std::optional<KeysNew> keys_new;
  std::optional<KeysRotate> keys_rotate;
  std::optional<OperatorCommand> operate;
  std::optional<SimulateCommand> simulate;
  std::string text;
};

// Throws UsageError. Reads the environment, the current directory (to make paths absolute) and the user's home.
Command parse_command_line(int argc, const char* const* argv);

}  // namespace fairway::cli
