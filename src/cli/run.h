// `fairway run`: from settings to a gateway that serves until it is told to stop.
#pragma once

#include "cli/settings.h"

namespace fairway::cli {

// The exit code. Throws RunError for everything that stops the gateway from starting.
int run_command(const RunSettings& settings);

}  // namespace fairway::cli
