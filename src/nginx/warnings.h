// What the gateway finds wrong by itself, for health and the log: SPEC "Warnings".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nginx/worker.h"

namespace fairway::ngx {

struct Warning {
  std::string_view code;  // stays the same from version to version
  std::string detail;     // a sentence that says what to do
};

// Those that hold now. May throw std::bad_alloc.
std::vector<Warning> warnings_of(Worker& worker);

}  // namespace fairway::ngx
