#include "cli/operator_options.h"

#include <algorithm>

#include "cli/assignments.h"
#include "cli/failure.h"
#include "cli/values.h"

namespace fairway::cli {
namespace {

constexpr std::uint32_t kMostFlows = 100;
constexpr std::uint32_t kMostTimes = 1'000'000'000;

constexpr const char* kSettings =
    "Settings, values as in nginx.conf (an empty one returns to what nginx.conf says):\n"
    "  capacity= rate= session_timeout= session_max= grant_timeout= abandon_timeout= return_grace= refresh= max_waiting= entries_per_ip=\n"
    "  polls_per_session= poll_interval= on_store_failure= bind_network= page_status= message= cookie_domain= cookie_secure= attach=";

// Part of a URL.
std::string checked_name(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (!fits) throw UsageError("\"" + name + "\" is not a name: up to 32 of a-z, 0-9 and -");
  return name;
}

}  // namespace

OperatorOptions::OperatorOptions(CLI::App& app) {
  add_rooms(app);
  add_queues(app);
}

CLI::App* OperatorOptions::add(CLI::App& group, const char* name, const char* help, Verb verb, bool named, const char* mode) {
  CLI::App* leaf = group.add_subcommand(name, help);
  if (named) leaf->add_option("NAME", name_, verb < Verb::queue_list ? "the room" : "the queue")->required();
  leaf->add_option("--api", api_, "where the API is [FAIRWAY_API, else http://localhost:8080/fairway/]")->type_name("URL");
  leaf->add_flag("--json", json_, "the API's own answer");
  leaves_.push_back({leaf, verb, mode});
  return leaf;
}

void OperatorOptions::add_count(CLI::App& leaf) {
  leaf.add_option("--count", count_, "end after so many looks [until Ctrl-C]")->type_name("N");
}

void OperatorOptions::add_rooms(CLI::App& app) {
  CLI::App& group = *app.add_subcommand("room", "Look at waiting rooms and change them while the gateway runs.");
  group.require_subcommand(1);
  add(group, "list", "All rooms.", Verb::room_list, false);
  add(group, "show", "One room: who is inside and waiting, and its settings.", Verb::room_show);
  add_settings(*add(group, "set", "Change settings of a room.", Verb::room_set),
               "where the room counts, in place of where it did; may be repeated");
  add_settings(*add(group, "create", "Make a room, until it is deleted; capacity= is needed.", Verb::room_create),
               "where the room counts, if nginx.conf says \"waiting_room auto\" there; may be repeated");
  add(group, "normal", "Back to normal after hold, open or close.", Verb::room_mode, true, "normal");
  add(group, "hold", "The line forms, nobody is called.", Verb::room_mode, true, "hold");
  add(group, "open", "Everybody comes in and counts as inside.", Verb::room_mode, true, "open");
  add(group, "close", "Newcomers and waiters are turned away; places are kept, those inside go on.", Verb::room_mode, true, "closed");
  add_evict(group);
  add_delete(group);
  add_count(*add(group, "watch", "One room once a second: live on a terminal, a line each on a pipe.", Verb::room_watch));
}

void OperatorOptions::add_queues(CLI::App& app) {
  CLI::App& group = *app.add_subcommand("queue", "Look at fair queues while the gateway runs.");
  group.require_subcommand(1);
  add(group, "list", "All fair queues.", Verb::queue_list, false);
  add(group, "show", "One fair queue: what runs and waits, totals, and its settings.", Verb::queue_show);
  add(group, "flows", "The networks and sessions with most debt and most cost.", Verb::queue_flows)
      ->add_option("--top", top_, "how many of each, 1 to 100 [20]")
      ->type_name("N");
  add_count(*add(group, "watch", "One fair queue once a second: live on a terminal, a line each on a pipe.", Verb::queue_watch));
}

void OperatorOptions::add_settings(CLI::App& leaf, const char* attach_help) {
  leaf.add_option("SETTING", settings_, "key=value, as many as wanted");
  leaf.add_option("--attach", attach_, attach_help)->type_name("HOST[/PATH]")->allow_extra_args(false);
  leaf.footer(kSettings);
}

void OperatorOptions::add_evict(CLI::App& group) {
  CLI::App* evict = add(group, "evict", "End sessions inside at once; asks first on a terminal.", Verb::room_evict);
  evict->add_option("--sid", sid_, "one session")->type_name("SID");
  evict->add_option("--network", network_, "all of an IPv4 /24 or IPv6 /48")->type_name("CIDR");
  evict->add_flag("--all", all_, "everybody");
  evict->add_flag("--line", line_, "places in line, too");
  evict->add_flag("--yes", yes_, "do not ask");
}

void OperatorOptions::add_delete(CLI::App& group) {
  add(group, "delete", "Take away a room that was made here, with everybody in it; asks first on a terminal.", Verb::room_delete)
      ->add_flag("--yes", yes_, "do not ask");
}

void OperatorOptions::read_change(OperatorCommand& command) const {
  command.change = parse_assignments(settings_);
  if (!attach_.empty() && command.change.contains("attach")) throw UsageError("attach= and --attach exclude each other");
  if (!attach_.empty()) command.change["attach"] = parse_attachments(attach_);
  if (command.change.empty()) throw UsageError("no setting is given: key=value or --attach (fairway room set --help tells what there is)");
}

void OperatorOptions::read_eviction(OperatorCommand& command) const {
  if ((sid_.empty() ? 0 : 1) + (network_.empty() ? 0 : 1) + (all_ ? 1 : 0) != 1)
    throw UsageError("say whom: one of --sid, --network and --all");
  if (!sid_.empty()) command.eviction["sid"] = sid_;
  if (!network_.empty()) command.eviction["network"] = network_;
  if (all_) command.eviction["all"] = true;
  if (line_) command.eviction["line"] = true;
}

std::optional<OperatorCommand> OperatorOptions::command() const {
  const auto leaf = std::find_if(leaves_.begin(), leaves_.end(), [](const Leaf& each) { return each.app->parsed(); });
  if (leaf == leaves_.end()) return std::nullopt;
  OperatorCommand command;
  command.verb = leaf->verb;
  command.mode = leaf->mode;
  command.api = api_address(api_);
  command.json = json_;
  command.yes = yes_;
  if (command.verb != Verb::room_list && command.verb != Verb::queue_list) command.name = checked_name(name_);
  if (command.verb == Verb::room_set || command.verb == Verb::room_create) read_change(command);
  if (command.verb == Verb::room_evict) read_eviction(command);
  if (!top_.empty()) command.top = parse_count(top_, 1, kMostFlows);
  if (!count_.empty()) command.count = parse_count(count_, 1, kMostTimes);
  return command;
}

}  // namespace fairway::cli
