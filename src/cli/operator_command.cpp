#include "cli/operator_command.h"

#include <unistd.h>

#include <iostream>

#include "cli/failure.h"
#include "cli/missing_name.h"
#include "cli/table.h"
#include "cli/watch.h"

namespace fairway::cli {
namespace {

void print(const OperatorCommand& command, const ApiAnswer& answer, const std::string& text) {
  std::cout << (command.json ? answer.text : text);
  if (command.json && !answer.text.ends_with('\n')) std::cout << '\n';
  std::cout << std::flush;
}

std::string line_about(const Json& room) {
  const auto count = [&room](const char* key) { return std::to_string(room.at(key).get<std::uint64_t>()); };
  return room.at("name").get<std::string>() + ": " + room.at("mode").get<std::string>() + "; " + count("inside") + " inside, " +
         count("waiting") + " waiting\n";
}

std::string inside_of(const Json& room) {
  const auto sessions = room.at("inside").get<std::uint64_t>();
  return std::to_string(sessions) + (sessions == 1 ? " session inside" : " sessions inside");
}

std::string waiting_of(const Json& room) {
  return std::to_string(room.at("waiting").get<std::uint64_t>()) + " waiting";
}

// On a terminal people are asked first, and told how many it hits; a script has made up its mind.
bool agreed(const OperatorCommand& command, ApiClient& api) {
  if (command.yes || isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return true;
  const ApiAnswer room = api.get("rooms/" + command.name);
  const bool deletes = command.verb == Verb::room_delete;
  std::cerr << (deletes ? deletion_question(room.json) : eviction_question(command.eviction, room.json)) << "? [y/N] " << std::flush;
  std::string said;
  std::getline(std::cin, said);
  return said == "y" || said == "Y" || said == "yes";
}

int evict(const OperatorCommand& command, ApiClient& api) {
  if (!agreed(command, api)) throw RunError("nothing was done");
  const ApiAnswer answer = api.post("rooms/" + command.name + "/evict", command.eviction);
  const auto ended = answer.json.at("ended").get<std::uint64_t>();
  print(command, answer, command.name + ": " + std::to_string(ended) + " ended\n");
  return 0;
}

int remove(const OperatorCommand& command, ApiClient& api) {
  if (!agreed(command, api)) throw RunError("nothing was done");
  api.remove("rooms/" + command.name);
  const Json told = {{"deleted", command.name}};
  print(command, {told.dump(), told}, command.name + ": deleted\n");
  return 0;
}

// What keeps a room from having any effect, in the gateway's words; empty: nothing.
std::string without_effect(const std::string& name, ApiClient& api) {
  const ApiAnswer health = api.get("health");
  for (const Json& warning : health.json.at("warnings")) {
    const auto detail = warning.at("detail").get<std::string>();
    if (warning.at("code") == "room_unattached" && detail.starts_with("Room " + name + " ")) return "\n" + printable(detail) + "\n";
  }
  return "";
}

int create(const OperatorCommand& command, ApiClient& api) {
  const std::string room = "rooms/" + command.name;
  try {
    api.get(room);
  } catch (const NotFoundError&) {
    const ApiAnswer answer = api.make(room, command.change);
    print(command, answer, room_text(answer.json) + without_effect(command.name, api));
    return 0;
  }
  throw RunError("There is a room " + command.name + " already: \"fairway room set\" changes it.");
}

void show(const OperatorCommand& command, ApiClient& api) {
  const std::string room = "rooms/" + command.name;
  const std::string queue = "queues/" + command.name;
  ApiAnswer answer;
  switch (command.verb) {
    case Verb::room_list:
      answer = api.get("rooms");
      return print(command, answer, room_table(answer.json));
    case Verb::room_show:
      answer = api.get(room);
      return print(command, answer, room_text(answer.json));
    case Verb::room_set:
      answer = api.change(room, command.change);
      return print(command, answer, room_text(answer.json));
    case Verb::room_mode:
      answer = api.post(room + "/mode", {{"mode", command.mode}});
      return print(command, answer, line_about(answer.json));
    case Verb::queue_list:
      answer = api.get("queues");
      return print(command, answer, queue_table(answer.json));
    case Verb::queue_show:
      answer = api.get(queue);
      return print(command, answer, queue_text(answer.json));
    default:
      answer = api.get(queue + "/flows?top=" + std::to_string(command.top));
      return print(command, answer, flows_text(answer.json));
  }
}

int run(const OperatorCommand& command) {
  if (command.verb == Verb::room_watch || command.verb == Verb::queue_watch) return watch(command);
  ApiClient api(command.api);
  if (command.verb == Verb::room_create) return create(command, api);
  if (command.verb == Verb::room_evict) return evict(command, api);
  if (command.verb == Verb::room_delete) return remove(command, api);
  show(command, api);
  return std::cout ? 0 : 1;
}

// Which there are, since a name that is not found is a mistyped one most of the time.
std::string missing(const OperatorCommand& command) {
  const bool room = command.verb < Verb::queue_list;
  const char* const key = room ? "rooms" : "queues";
  std::vector<std::string> names;
  const ApiAnswer all = ApiClient(command.api).get(key);
  for (const Json& each : all.json.at(key)) names.push_back(each.at("name").get<std::string>());
  const std::string hint = command.verb == Verb::room_set ? " \"fairway room create\" makes one." : "";
  return missing_name(room ? "room" : "fair queue", command.name, names) + hint;
}

}  // namespace

int run_operator_command(const OperatorCommand& command) {
  try {
    return run(command);
  } catch (const NotFoundError&) {
    throw RunError(missing(command));
  } catch (const Json::exception&) {  // JSON, but not of this form
    throw RunError("what answers at " + command.api.url + " is not a gateway's API of this version");
  }
}

std::string deletion_question(const Json& room) {
  return room.at("name").get<std::string>() + ": delete the room with " + inside_of(room) + " and " + waiting_of(room);
}

std::string eviction_question(const Json& eviction, const Json& room) {
  const std::string inside = inside_of(room);
  const std::string waiting = waiting_of(room);
  const std::string name = room.at("name").get<std::string>();
  const bool line = eviction.contains("line");
  if (eviction.contains("sid")) return name + ": end this one session" + (line ? " or its place in line" : "");
  if (eviction.contains("network"))
    return name + ": end all of " + printable(eviction.at("network").get<std::string>()) + " among " + inside +
           (line ? " and " + waiting : "");
  return name + ": end " + inside + (line ? " and " + waiting : "");
}

}  // namespace fairway::cli
