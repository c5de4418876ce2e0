// The console's part of nginx.conf: at /fairway/ for whoever may use it, and the application's for everybody else.
#pragma once

#include <string>

#include "cli/settings.h"

namespace fairway::cli {

// Inside http {}: who may. From this machine itself always; from the networks of --console-allow with the password.
std::string console_rules(const RunSettings& settings);
// Inside server {}: the location.
std::string console_location(const RunSettings& settings, const Machine& machine);

// A line for nginx's auth_basic_user_file, without the line end: user `operator`, the password hashed with a random salt.
std::string password_line(const std::string& password);

}  // namespace fairway::cli
