// The cost of a request as an application reports it in a response header.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fairway {

// A decimal number (a fraction is allowed) and a unit, `ns`, `us`, `ms` or `s`, above 0 and at most 60 s; blanks around it and between
// number and unit are allowed. In ns, at least 1; nullopt for anything else.
std::optional<std::int64_t> parse_cost(std::string_view text) noexcept;

}  // namespace fairway
