// A network as operators write it.
#pragma once

#include <optional>
#include <string_view>

#include "core/sid.h"

namespace fairway::operate {

// "203.0.113.0/24" or "2001:db8:1::/48", the two lengths that sessions are kept with; bits beyond the prefix are not looked at.
std::optional<Network> parse_network(std::string_view text);

}  // namespace fairway::operate
