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

// The others of the same store, as it tells of them.
struct OtherGateways {
  std::uint32_t count = 0;
  bool key_unknown = false;  // one of them does not have the key that this gateway signs with
  std::string foreign_keys;  // ids of keys that they sign with and this gateway does not have
};
// May throw std::bad_alloc.
OtherGateways other_gateways(Worker& worker);

// Those that hold now. May throw std::bad_alloc.
std::vector<Warning> warnings_of(Worker& worker);

}  // namespace fairway::ngx
