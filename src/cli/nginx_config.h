// nginx.conf as `fairway run` writes it: complete, readable, and meant to be copied by those who outgrow the command.
#pragma once

#include <string>

#include "cli/settings.h"

namespace fairway::cli {

enum class Secrets : bool { masked, written };

// Pure: the same settings and machine give the same text. Throws UsageError when a path cannot be written into nginx.conf.
std::string nginx_config(const RunSettings& settings, const Machine& machine, Secrets secrets);

}  // namespace fairway::cli
