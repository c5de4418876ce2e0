#include "cli/options.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "cli/completion.h"
#include "cli/failure.h"
#include "cli/nginx_quote.h"
#include "cli/operator_options.h"
#include "cli/simulate_options.h"
#include "cli/store_option.h"

namespace fairway::cli {
namespace {

constexpr std::uint32_t kMostSessions = 10'000'000;
constexpr std::uint32_t kMostConcurrency = 65536;
constexpr std::uint32_t kPresetConcurrency = 32;

// As typed; an empty text is the same as no flag.
struct RawRun {
  std::string upstream, listen, capacity, rate, concurrency, store, state, keys, client_ip_header, preset, console_password_file,
      access_log;
  std::vector<std::string> bypass{"/.well-known/", "/robots.txt", "/favicon.ico"};
  std::vector<std::string> trust_proxy, console_allow;
  bool print_config = false;
};

std::string default_state() {
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') {  // a service may have none
    const struct passwd* user = getpwuid(geteuid());
    home = user != nullptr ? user->pw_dir : "";
  }
  return std::string(home) + "/.local/state/fairway";
}

std::string absolute(const std::string& path) {
  const auto normal = std::filesystem::absolute(path).lexically_normal();
  // A trailing slash would leave an empty last component.
  return normal.has_filename() || !normal.has_parent_path() ? normal.string() : normal.parent_path().string();
}

// As it may stand in a message: control characters would spoil the line.
std::string shown(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

// Runs a check and puts the flag and its value in front of what it complains about.
template <typename Check>
auto checked(const char* flag, const std::string& value, Check check) {
  try {
    return check(value);
  } catch (const UsageError& error) {
    // A password in a URL is nobody's business.
    throw UsageError(std::string(flag) + " \"" + shown(mask_secret(value)) + "\": " + error.what());
  }
}

std::vector<std::string> checked_list(const char* flag, const std::vector<std::string>& values, std::string (*check)(std::string_view)) {
  std::vector<std::string> result;
  for (const std::string& value : split_list(values)) result.push_back(checked(flag, value, check));
  return result;
}

std::string checked_path(const char* flag, const std::string& value) {
  return checked(flag, value, [](const std::string& path) {
    refuse_control_characters(path);
    return absolute(path);
  });
}

std::vector<std::string> checked_store(const std::string& value) {
  try {
    return parse_store(value, std::filesystem::current_path().string());
  } catch (const UsageError& error) {
    throw UsageError(std::string("--store: ") + error.what());  // the value may hold a password
  }
}

void read_room_and_queue(const RawRun& raw, RunSettings& settings) {
  if (!raw.capacity.empty())
    settings.capacity = checked("--capacity", raw.capacity, [](const auto& text) { return parse_count(text, 0, kMostSessions); });
  if (!raw.rate.empty()) settings.rate = checked("--rate", raw.rate, parse_rate);
  if (!settings.rate.empty() && !settings.capacity) throw UsageError("--rate needs --capacity: without it there is no room");
  if (!raw.preset.empty()) settings.concurrency = kPresetConcurrency;
  if (!raw.concurrency.empty()) {
    settings.concurrency =
        checked("--concurrency", raw.concurrency, [](const auto& text) { return parse_count(text, 1, kMostConcurrency); });
  }
}

void read_console(const RawRun& raw, RunSettings& settings) {
  settings.console_allow = checked_list("--console-allow", raw.console_allow, parse_network);
  if (!raw.console_password_file.empty())
    settings.console_password_file = checked_path("--console-password-file", raw.console_password_file);
  if (!settings.console_allow.empty() && settings.console_password_file.empty()) {
    throw UsageError("--console-allow needs --console-password-file: whoever may reach the console from elsewhere must know a password");
  }
}

RunSettings read_run(const RawRun& raw) {
  RunSettings settings;
  if (raw.upstream.empty())
    throw UsageError("--upstream is missing: give the URL of your application, as in --upstream http://127.0.0.1:3000");
  settings.upstream = checked("--upstream", raw.upstream, parse_upstream);
  if (!raw.listen.empty()) settings.listen = checked("--listen", raw.listen, parse_listen);
  read_room_and_queue(raw, settings);
  if (!raw.store.empty()) settings.store = checked_store(raw.store);
  settings.state = checked_path("--state", raw.state.empty() ? default_state() : raw.state);
  if (!raw.keys.empty()) settings.keys = checked_path("--keys", raw.keys);
  settings.bypass = checked_list("--bypass", raw.bypass, parse_prefix);
  const std::string header = raw.client_ip_header.empty() ? "" : checked("--client-ip-header", raw.client_ip_header, parse_header_name);
  settings.proxy = front_proxy(raw.preset, checked_list("--trust-proxy", raw.trust_proxy, parse_network), header);
  read_console(raw, settings);
  if (!raw.access_log.empty() && raw.access_log != "-" && raw.access_log != "off") {
    checked("--access-log", raw.access_log, [](const auto& path) { return refuse_variables(path), 0; });
    settings.access_log = checked_path("--access-log", raw.access_log);
  } else if (!raw.access_log.empty()) {
    settings.access_log = raw.access_log;
  }
  settings.print_config = raw.print_config;
  return settings;
}

// CLI11 finds that a subcommand is missing before it looks at the words that it does not know.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty() || error.get_name() != "RequiredError") return error.what();
  return "there is no command or option \"" + shown(unknown.front()) + "\"";
}

void add_run_options(CLI::App& run, RawRun& raw) {
  const auto text = [&run](const char* flag, std::string& value, const char* environment, const char* type, const char* help) {
    run.add_option(flag, value, help)->envname(environment)->type_name(type);
  };
  const auto list = [&run](const char* flag, std::vector<std::string>& values, const char* environment, const char* type,
                           const char* help) {
    run.add_option(flag, values, help)->envname(environment)->type_name(type)->expected(0, 10'000);
  };
  text("--upstream", raw.upstream, "FAIRWAY_UPSTREAM", "URL", "your application, as in http://127.0.0.1:3000 (required)");
  text("--listen", raw.listen, "FAIRWAY_LISTEN", "[ADDR:]PORT",
       "where visitors arrive; 0.0.0.0:PORT or [::]:PORT for everybody [127.0.0.1:8080]");
  text("--capacity", raw.capacity, "FAIRWAY_CAPACITY", "N",
       "a waiting room, \"site\", in front of everything: at most N sessions inside [no room]");
  text("--rate", raw.rate, "FAIRWAY_RATE", "N/s", "at most N of them let in per second (N/m: per minute) [no limit]");
  text("--concurrency", raw.concurrency, "FAIRWAY_CONCURRENCY", "N",
       "a fair queue, \"app\": at most N requests at the application at once [no queue]");
  text("--store", raw.store, "FAIRWAY_STORE", "STORE",
       "where the line lives: memory, \"memory 64m\", or URLs as for fairway_store [memory 32m]");
  text("--state", raw.state, "FAIRWAY_STATE", "DIR", "folder for nginx.conf, keys and state [~/.local/state/fairway]");
  text("--keys", raw.keys, "FAIRWAY_KEYS", "FILE", "keys that sign passes and tickets, made when missing [DIR/keys]");
  list("--bypass", raw.bypass, "FAIRWAY_BYPASS", "PREFIX...",
       "paths that begin with one of these skip the room [/.well-known/ /robots.txt /favicon.ico]");
  list("--trust-proxy", raw.trust_proxy, "FAIRWAY_TRUST_PROXY", "CIDR...", "proxies in front that may tell the client's address [nobody]");
  text("--client-ip-header", raw.client_ip_header, "FAIRWAY_CLIENT_IP_HEADER", "NAME",
       "the header in which they tell it [X-Forwarded-For]");
  text("--preset", raw.preset, "FAIRWAY_PRESET", "nginx|cloudflare", "trust that front proxy, and --concurrency 32");
  list("--console-allow", raw.console_allow, "FAIRWAY_CONSOLE_ALLOW", "CIDR...", "who may open the console from elsewhere [nobody]");
  text("--console-password-file", raw.console_password_file, "FAIRWAY_CONSOLE_PASSWORD_FILE", "FILE", "the password they need");
  text("--access-log", raw.access_log, "FAIRWAY_ACCESS_LOG", "FILE|-|off", "JSON access log, - is standard output [-]");
  run.add_flag("--print-config", raw.print_config, "show the nginx.conf, secrets masked, and exit")->envname("FAIRWAY_PRINT_CONFIG");
}

struct RawKeys {
  explicit RawKeys(CLI::App& app) {
    CLI::App* keys = app.add_subcommand("keys", "Make and rotate the keys that sign passes and tickets.");
    keys->require_subcommand(1);
    make = keys->add_subcommand("new", "Make a keys file with one random key.");
    make->add_option("--output", output, "the file, which must not exist yet [standard output]")->type_name("FILE");
    rotate = keys->add_subcommand("rotate", "Put a new key first; the older ones stay valid.");
    rotate->add_option("--keys", file, "the keys file [~/.local/state/fairway/keys]")->type_name("FILE")->envname("FAIRWAY_KEYS");
    rotate->add_flag("--second", second, "put it second: it is known, but does not sign yet, as several gateways need it");
  }

  void read(Command& command) const {
    if (make->parsed()) command.keys_new = KeysNew{output.empty() ? output : checked_path("--output", output)};
    if (!rotate->parsed()) return;
    const std::string path = file.empty() ? default_state() + "/keys" : file;
    command.keys_rotate = KeysRotate{checked_path("--keys", path), second ? Place::second : Place::first};
  }

  std::string output, file;
  bool second = false;
  CLI::App *make = nullptr, *rotate = nullptr;
};

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Fair order in front of a web application.", "fairway");
  RawRun raw;
  Command command;
  app.set_version_flag("--version", "fairway " FAIRWAY_VERSION);
  app.require_subcommand(1);
  CLI::App* run = app.add_subcommand("run", "Start the gateway in the foreground.");
  add_run_options(*run, raw);
  RawKeys raw_keys(app);
  OperatorOptions operators(app);
  SimulateOptions simulations(app);
  CLI::App* completion = app.add_subcommand("completion", "Print what makes a shell complete this command.");
  completion->require_subcommand(1);
  CLI::App* bash = completion->add_subcommand("bash", "For bash: source <(fairway completion bash)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    std::ostringstream text;
    app.exit(done, text, text);
    command.text = text.str();
    return command;
  } catch (const CLI::ParseError& error) {
    throw UsageError(complaint(app, error) + " (fairway --help and fairway run --help tell what there is)");
  }
  if (run->parsed()) command.run = read_run(raw);
  raw_keys.read(command);
  command.operate = operators.command();
  command.simulate = simulations.command();
  if (bash->parsed()) command.text = std::string(bash_completion());
  return command;
}

}  // namespace fairway::cli
