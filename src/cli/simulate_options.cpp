#include "cli/simulate_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>

#include "cli/failure.h"
#include "cli/simulate_values.h"
#include "cli/table.h"
#include "cli/values.h"
#include "operate/values.h"

namespace fairway::cli {
namespace {

constexpr std::uint32_t kMostVisitors = 10'000'000;
constexpr std::uint32_t kMostBots = 10'000;
constexpr std::uint32_t kMostOfABot = 1'000;
constexpr std::uint32_t kMostNamed = 1'000;

// Settings that change what a simulation does; the others are about pages, cookies and failures.
constexpr std::array kOfRoom{"capacity",     "rate",        "session_timeout", "session_max",       "grant_timeout",  "abandon_timeout",
                             "return_grace", "max_waiting", "refresh",         "polls_per_session", "entries_per_ip", "poll_interval"};
constexpr std::array kOfQueue{"concurrency", "size",       "timeout",      "burst",         "max_debt",
                              "debt_ttl",    "light_lane", "outer_prefix", "inner_address", "probation"};

template <class Names>
bool is_among(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Check>
auto checked(const std::string& flag, const std::string& value, Check check) {
  try {
    return check(value);
  } catch (const UsageError& error) {
    throw UsageError(flag + " \"" + printable(value) + "\": " + error.what());
  }
}

template <class Conf>
void set_or_throw(const operate::Field<Conf>& field, const std::string& text, Conf& conf) {
  if (const auto allowed = set_field(field, text, conf)) throw UsageError(*allowed);
}

// Names flags in place of directives.
UsageError together(const operate::Problem& problem) {
  return UsageError(flag_of(problem.field) + ": " + problem.detail);
}

template <class Conf>
std::string default_text(const operate::Field<Conf>& field, bool required) {
  if (required) return " (required)";
  const std::string text = field.get(Conf{});
  return " [" + text + "]";
}

// What blanks separate.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// key=value of --at.
void change_setting(const std::string& word, operate::RoomSettings& settings) {
  const std::size_t mark = std::min(word.find('='), word.size());
  const std::string key = word.substr(0, mark);
  const std::string to = mark == word.size() ? "" : word.substr(mark + 1);
  if (key == "mode") {
    const auto mode = operate::parse_mode(to);
    if (!mode) throw UsageError("mode: give normal, hold, open or closed");
    settings.settings.mode = *mode;
    return;
  }
  const auto* field = operate::find_field(operate::room_fields(), key);
  if (field == nullptr || !is_among(key, kOfRoom)) throw UsageError("\"" + printable(key) + "\" is none of the settings");
  try {
    set_or_throw(*field, to, settings);
  } catch (const UsageError& error) {
    throw UsageError(key + ": " + error.what());
  }
}

}  // namespace

SimulateOptions::SimulateOptions(CLI::App& app) {
  CLI::App& group = *app.add_subcommand("simulate", "Try settings on a crowd, or on yesterday's requests, in a moment.");
  group.require_subcommand(1);
  add_room(group);
  add_queue(group);
}

void SimulateOptions::option(CLI::App& leaf, const std::string& flag, const char* type, const std::string& help) {
  leaf.add_option(flag, values_[flag], help)->type_name(type);
}

void SimulateOptions::add_telling(CLI::App& leaf) {
  leaf.add_flag("--json", json_, "all figures, as JSON");
  option(leaf, "--report", "FILE", "write a report with plots, too: FILE.html or FILE.svg");
}

void SimulateOptions::add_room(CLI::App& group) {
  room_ = group.add_subcommand("room", "A crowd at a waiting room: who waits how long, and what it asks of the store.");
  for (const auto& field : operate::room_fields()) {
    if (!is_among(field.name, kOfRoom)) continue;
    option(*room_, flag_of(field.name), "VALUE", field.allowed + default_text(field, field.name == "capacity"));
  }
  option(*room_, "--visitors", "N", "how many come, up to 10000000 [10000]");
  option(*room_, "--over", "TIME", "within this time [1h]");
  option(*room_, "--arrivals", "KIND", "constant, poisson, burst (half of them in the first minute) or heavy (in clumps) [poisson]");
  option(*room_, "--stay", "[SHAPE,]TIME",
         "how long they stay inside: fixed, uniform, exponential or heavy, and the mean [exponential,5m]");
  option(*room_, "--click", "TIME", "mean time between the requests of one inside [30s]");
  option(*room_, "--sign-out", "SHARE", "of those inside who end their session; the slot of the others ends by session_timeout [0%]");
  option(*room_, "--leave-silently", "SHARE", "of the visitors who close the page when their patience is over [0%]");
  option(*room_, "--leave-politely", "SHARE", "who use the page's button then [0%]");
  option(*room_, "--patience", "[SHAPE,]TIME", "of those who leave [exponential,10m]");
  option(*room_, "--hidden", "SHARE", "who wait with the page in the background, where it asks once a minute [0%]");
  option(*room_, "--bots", "N", "programs that ask as fast as they can, each from one address [0]");
  option(*room_, "--bot-sessions", "N", "sessions of each of them at once [20]");
  option(*room_, "--bot-polls", "N/s", "questions of each of these sessions [10/s]");
  room_->add_option("--at", changes_, "settings that change on the way, as in --at \"10m capacity=800 mode=hold\"; may be repeated")
      ->type_name("\"TIME KEY=VALUE...\"")
      ->allow_extra_args(false);
  option(*room_, "--longest", "TIME", "end the run then [a day after the last came]");
  option(*room_, "--seed", "N", "another number is another crowd of the same kind [1]");
  add_telling(*room_);
}

void SimulateOptions::add_queue(CLI::App& group) {
  queue_ = group.add_subcommand("queue", "Requests of an access log at a fair queue: first come, first served against fair.");
  option(*queue_, "--access-log", "FILE|-",
         "what nginx logged: the combined format with $request_time or $upstream_response_time at its end, or fairway_json (required)");
  for (const auto& field : operate::queue_fields()) {
    if (!is_among(field.name, kOfQueue)) continue;
    const bool lane = field.name == "light_lane";
    option(*queue_, flag_of(field.name), "VALUE",
           field.allowed + (lane ? std::string(" [an eighth of concurrency]") : default_text(field, field.name == "concurrency")));
  }
  option(*queue_, "--top", "N", "how many clients and networks to name [10]");
  add_telling(*queue_);
}

Telling SimulateOptions::read_telling() const {
  const std::string& report = value("--report");
  if (report.empty()) return {json_, report};
  return checked("--report", report, [this](const std::string& path) {
    refuse_control_characters(path);
    if (!path.ends_with(".html") && !path.ends_with(".svg")) throw UsageError("give a file that ends in .html or .svg");
    return Telling{json_, std::filesystem::absolute(path).lexically_normal().string()};
  });
}

void SimulateOptions::read_crowd(sim::RoomPlan& plan) const {
  const auto with = [this](const char* flag, auto& target, auto parse) {
    if (!value(flag).empty()) target = checked(flag, value(flag), parse);
  };
  const auto count = [](std::uint32_t least, std::uint32_t most) {
    return [least, most](const std::string& text) { return parse_count(text, least, most); };
  };
  with("--visitors", plan.visitors, count(1, kMostVisitors));
  with("--over", plan.over, parse_time);
  with("--arrivals", plan.arrivals, parse_arrivals);
  with("--stay", plan.stay, [](const std::string& text) { return parse_length(text, sim::Shape::exponential); });
  with("--click", plan.click, parse_time);
  with("--sign-out", plan.sign_out, parse_share);
  with("--leave-silently", plan.silent, parse_share);
  with("--leave-politely", plan.polite, parse_share);
  with("--patience", plan.patience, [](const std::string& text) { return parse_length(text, sim::Shape::exponential); });
  with("--hidden", plan.hidden, parse_share);
  with("--bots", plan.bots.count, count(0, kMostBots));
  with("--bot-sessions", plan.bots.sessions, count(1, kMostOfABot));
  with("--bot-polls", plan.bots.polls, [](const std::string& text) {
    const auto rate = operate::parse_rate(text);
    if (!rate || rate->window != 1'000'000 || rate->count > kMostOfABot) throw UsageError("give N/s, N from 1 to 1000");
    return rate->count;
  });
  with("--longest", plan.longest, parse_time);
  with("--seed", plan.seed, count(0, std::numeric_limits<std::uint32_t>::max()));
  if (plan.silent + plan.polite > 1) throw UsageError("--leave-silently and --leave-politely: together at most 100%");
}

void SimulateOptions::read_changes(SimulateRoom& command) const {
  operate::RoomSettings settings = command.settings;
  for (const std::string& text : changes_) {
    checked("--at", text, [&](const std::string& change) {
      const std::vector<std::string> words = words_of(change);
      const auto at = words.empty() ? std::nullopt : operate::parse_duration(words.front());
      if (!at || words.size() < 2) throw UsageError("give a time and what changes then, as in \"10m capacity=800 mode=hold\"");
      auto& changes = command.plan.changes;
      if (!changes.empty() && changes.back().at > *at) throw UsageError("changes come in the order of their times");
      for (std::size_t i = 1; i < words.size(); ++i) change_setting(words[i], settings);
      if (const auto problem = operate::check_together(settings)) throw together(*problem);
      changes.push_back({*at, settings.settings});
      return 0;
    });
  }
}

// The settings among `names` that were given.
template <class Conf, class Names>
void SimulateOptions::read_settings(std::span<const operate::Field<Conf>> fields, const Names& names, Conf& settings) const {
  for (const auto& field : fields) {
    if (!is_among(field.name, names)) continue;
    const std::string flag = flag_of(field.name);
    if (value(flag).empty()) continue;
    checked(flag, value(flag), [&](const std::string& text) { return set_or_throw(field, text, settings), 0; });
  }
  if (const auto problem = operate::check_together(settings)) throw together(*problem);
}

SimulateRoom SimulateOptions::read_room() const {
  SimulateRoom command;
  if (value("--capacity").empty()) throw UsageError("--capacity is missing: how many may be inside at once, as in --capacity 500");
  read_settings(operate::room_fields(), kOfRoom, command.settings);
  command.plan.settings = command.settings.settings;
  command.plan.refresh = command.settings.refresh * 1'000'000;
  command.plan.entries_per_minute = command.settings.entries_per_minute;
  command.plan.polls_per_second = command.settings.polls_per_second;
  read_crowd(command.plan);
  read_changes(command);
  command.telling = read_telling();
  return command;
}

SimulateQueue SimulateOptions::read_queue() const {
  SimulateQueue command;
  if (value("--access-log").empty()) throw UsageError("--access-log is missing: give a file, or - for standard input");
  if (value("--concurrency").empty())
    throw UsageError("--concurrency is missing: how many requests may run at once, as in --concurrency 16");
  read_settings(operate::queue_fields(), kOfQueue, command.settings);
  command.access_log = value("--access-log");
  if (!value("--top").empty())
    command.top = checked("--top", value("--top"), [](const std::string& text) { return parse_count(text, 1, kMostNamed); });
  command.telling = read_telling();
  return command;
}

std::optional<SimulateCommand> SimulateOptions::command() const {
  if (room_->parsed()) return SimulateCommand{read_room(), std::nullopt};
  if (queue_->parsed()) return SimulateCommand{std::nullopt, read_queue()};
  return std::nullopt;
}

}  // namespace fairway::cli
