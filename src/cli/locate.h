// What `fairway run` finds on this machine.
#pragma once

#include <string>

#include "cli/settings.h"

namespace fairway::cli {

// FAIRWAY_NGINX, else nginx in PATH, else /usr/sbin/nginx and the like. Throws RunError with what to install.
std::string find_nginx();

// FAIRWAY_MODULE, else beside this command, else where distributions keep nginx modules. Throws RunError.
std::string find_module();

// Worker user, limits and where standard output goes; the module is left to find_module.
Machine look_around();

}  // namespace fairway::cli
