// What `fairway run` was asked for, checked, and what it found on this machine. Together they decide every byte of nginx.conf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/front_proxy.h"
#include "cli/values.h"

namespace fairway::cli {

// What `fairway run` calls the one room and the one fair queue it makes.
inline constexpr const char* kRoom = "site";
inline constexpr const char* kQueue = "app";

struct RunSettings {
  Upstream upstream;
  Listen listen;
  std::optional<std::uint32_t> capacity;     // sessions inside; no room without it
  std::string rate;                          // N/s or N/m; empty: no limit
  std::optional<std::uint32_t> concurrency;  // requests at the application at once; no queue without it
  std::vector<std::string> store;            // arguments of fairway_store; empty: the module's default
  std::string state;                         // absolute path
  std::string keys;                          // absolute path; empty: <state>/keys
  std::vector<std::string> bypass;           // beginnings of paths that skip the room
  FrontProxy proxy;
  std::vector<std::string> console_allow;  // networks
  std::string console_password_file;       // absolute path; empty: none
  std::string access_log = "-";            // absolute path, `-` for standard output, `off`
  bool print_config = false;

  std::string keys_path() const { return keys.empty() ? state + "/keys" : keys; }
  std::string config_path() const { return state + "/nginx.conf"; }
  std::string pid_path() const { return state + "/nginx.pid"; }
  // nginx is started in here. Its temporary files and the module's state are below, in folders that belong to the workers.
  std::string work_path() const { return state + "/work"; }
};

struct Machine {
  std::string module = "modules/ngx_http_fairway_module.so";
  std::string worker_user;                 // who the workers run as; empty: who started the command (not root)
  std::string worker_group;                // of worker_user
  std::uint32_t open_files = 1024;         // hard limit
  std::string access_log = "/dev/stdout";  // what `-` means here
};

}  // namespace fairway::cli
