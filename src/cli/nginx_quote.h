// Text of people's choice inside nginx.conf: it can never end its argument, start a directive, or be taken for a pattern.
#pragma once

#include <string>
#include <string_view>

namespace fairway::cli {

// One argument of a directive: as it stands when it is harmless, else in double quotes with " and \ escaped. Throws UsageError for control
// characters. `$` is kept: arguments in which nginx expands variables must be checked by the caller (refuse_variables).
std::string nginx_quote(std::string_view text);

// Throws UsageError when the text holds a `$`; nginx has no way to escape it.
void refuse_variables(std::string_view text);

// A key of a `map` block that matches every value beginning with `prefix`, quoted.
std::string nginx_prefix_pattern(std::string_view prefix);

}  // namespace fairway::cli
