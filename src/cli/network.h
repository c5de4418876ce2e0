// Two questions to the network before nginx starts, so that the answer is a sentence and not a log line.
#pragma once

#include <string>

#include "cli/values.h"

namespace fairway::cli {

// Throws RunError when nginx will not be able to listen there: the port is taken, not allowed, or the address is not this machine's.
void check_listen(const Listen& listen);

// Empty when something accepts connections there within a second, else what is wrong. Name lookup may take longer.
std::string upstream_trouble(const Upstream& upstream);

}  // namespace fairway::cli
