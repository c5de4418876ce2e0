// `watch`: a room or a queue once a second, as a live view on a terminal and as a line each on a pipe.
#pragma once

#include <string>
#include <vector>

#include "cli/operator_command.h"

namespace fairway::cli {

// Returns 0 when it was ended or has counted to its end, 3 when the gateway did not answer at last. Throws UnreachableError when it never
// did, and RunError when the gateway refuses (there is no such room).
int watch(const OperatorCommand& command);

// The view: what is now (GET rooms/NAME or queues/NAME), and its history as bars.
std::vector<std::string> room_view(const Json& room, const Json& history, std::size_t columns);
std::vector<std::string> queue_view(const Json& queue, const Json& history, std::size_t columns);

// The line, without the time in front.
std::string room_line(const Json& room);
std::string queue_line(const Json& queue);

}  // namespace fairway::cli
