// `fairway room …` and `fairway queue …`: what an operator asks of a running gateway, by its API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/api_client.h"

namespace fairway::cli {

enum class Verb {
  room_list,
  room_show,
  room_set,
  room_create,
  room_mode,
  room_evict,
  room_delete,
  room_watch,
  queue_list,
  queue_show,
  queue_flows,
  queue_watch
};

struct OperatorCommand {
  Verb verb = Verb::room_list;
  ApiAddress api;
  bool json = false;                   // the API's own answer instead of a table
  std::string name;                    // of the room or queue; fit for a URL
  std::string mode;                    // of room_mode: normal, hold, open or closed
  Json change = Json::object();        // of room_set and room_create: the body
  Json eviction = Json::object();      // of room_evict: the body
  bool yes = false;                    // of room_evict and room_delete: do not ask
  std::uint32_t top = 20;              // of queue_flows
  std::optional<std::uint32_t> count;  // of watch: so many times; none: until it is ended
};

// Writes to standard output and returns the exit code. Throws RunError and UnreachableError.
int run_operator_command(const OperatorCommand& command);

// The parts of the above, a folder of sentences each.
std::string room_table(const Json& rooms);    // of GET rooms
std::string room_text(const Json& room);      // of GET rooms/NAME
std::string queue_table(const Json& queues);  // of GET queues
std::string queue_text(const Json& queue);    // of GET queues/NAME
std::string flows_text(const Json& flows);    // of GET queues/NAME/flows

// What an eviction would end, as a question without the mark at its end.
std::string eviction_question(const Json& eviction, const Json& room);
// The same of taking the room away.
std::string deletion_question(const Json& room);

}  // namespace fairway::cli
