#include "cli/run.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "cli/console_config.h"
#include "cli/failure.h"
#include "cli/files.h"
#include "cli/keys.h"
#include "cli/locate.h"
#include "cli/network.h"
#include "cli/nginx_check.h"
#include "cli/nginx_config.h"
#include "cli/state_folder.h"
#include "cli/supervisor.h"

namespace fairway::cli {
namespace {

void say(const std::string& text) {
  std::cerr << "fairway: " + text + "\n";  // at once: nginx may write to the same file
}

int print_config(const RunSettings& settings) {
  Machine machine = look_around();
  try {
    machine.module = find_module();
  } catch (const RunError& error) {
    say(std::string("warning: ") + error.what());
  }
  std::cout << nginx_config(settings, machine, Secrets::masked) << std::flush;
  return std::cout ? 0 : 1;
}

// The first line of the file; empty without one.
std::string read_password(const RunSettings& settings) {
  if (settings.console_password_file.empty()) return "";
  std::string text = read_file(settings.console_password_file);
  text.resize(std::min(text.find_first_of("\r\n"), text.size()));
  if (text.find_first_not_of(" \t") == std::string::npos) {
    throw RunError("there is no password in the first line of " + settings.console_password_file);
  }
  return text;
}

// Names file and line, before nginx does with the line of a configuration that nobody wrote.
void check_keys(const RunSettings& settings) {
  try {
    check_keys_file(settings.keys_path());
  } catch (const RunError& error) {
    throw RunError((settings.keys.empty() ? "the keys of this state folder: " : "--keys: ") + std::string(error.what()));
  }
}

// When output goes to a file, as in `> log 2>&1`, nginx opens that file once more for its access log. Where everybody appends, nobody
// writes over the lines of another.
void append_to_output() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat info {};
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const int flags = fcntl(fd, F_GETFL);
    if (flags >= 0) fcntl(fd, F_SETFL, flags | O_APPEND);
  }
}

// nginx opens its access log by name. Standard output cannot always be opened again: not a socket (systemd's journal), not another
// user's terminal.
void choose_access_log(const RunSettings& settings, Machine& machine) {
  if (settings.access_log != "-") return;
  const int fd = open(machine.access_log.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
  if (fd >= 0) {
    close(fd);
    return;
  }
  machine.access_log = settings.state + "/access.log";
  say("standard output cannot be opened again, the access log is " + machine.access_log);
}

void warn_of_upstream(const RunSettings& settings) {
  const std::string trouble = upstream_trouble(settings.upstream);
  if (!trouble.empty())
    say("warning: nothing answers at " + settings.upstream.url() + " (" + trouble + "): visitors get 502 until it is up");
}

std::string summary(const RunSettings& settings) {
  std::string text = settings.listen.url() + " -> " + settings.upstream.url();
  text += settings.capacity ? std::string(", a room \"") + kRoom + "\" for " + std::to_string(*settings.capacity) : ", no room";
  if (!settings.rate.empty()) text += " (" + settings.rate + ")";
  text += settings.concurrency ? std::string(", a fair queue \"") + kQueue + "\" of " + std::to_string(*settings.concurrency)
                               : ", no fair queue";
  return text + "; configuration in " + settings.config_path();
}

// Where the console and the API for `fairway room` and `fairway queue` are.
std::string way_in(const RunSettings& settings) {
  const Listen& listen = settings.listen;
  const bool loopback = listen.address == "127.0.0.1" || listen.address == "::1" || listen.address == "0.0.0.0" || listen.address == "::";
  if (!loopback && settings.console_allow.empty()) return "no console: it needs a loopback address, or --console-allow";
  const std::string url = listen.url() + "fairway/";
  std::string text = "console at " + url;
  if (!settings.console_allow.empty()) text += loopback ? "; with a password from elsewhere" : " with a password";
  const bool found = loopback && listen.port == Listen{}.port;  // without being told
  text += "; in another terminal: fairway room list" + (found ? "" : " --api " + url);
  return text;
}

}  // namespace

int run_command(const RunSettings& settings) {
  if (settings.print_config) return print_config(settings);
  append_to_output();
  hold_signals();
  const std::string password = read_password(settings);
  const std::string nginx = find_nginx();
  Machine machine = look_around();
  machine.module = find_module();
  check_listen(settings.listen);
  const StateFolder folder(settings, machine);
  check_keys(settings);
  if (!settings.console_allow.empty()) folder.give_password(password_line(password), machine);
  choose_access_log(settings, machine);
  warn_of_upstream(settings);
  replace_private_file(settings.config_path(), nginx_config(settings, machine, Secrets::written));
  check_config(nginx, settings.work_path(), settings.config_path());
  unlink(settings.pid_path().c_str());  // a new one says that nginx is up
  const bool good = supervise(
      {nginx, "-e", "stderr", "-p", "./", "-c", settings.config_path(), "-g", "daemon off;"}, settings.work_path(),
      [&] { return std::filesystem::exists(settings.pid_path()); },
      [&] {
        say(summary(settings));
        say(way_in(settings) + "; stop with Ctrl-C");
      });
  if (!good) throw RunError("nginx ended by itself; what it said is above");
  return 0;
}

}  // namespace fairway::cli
