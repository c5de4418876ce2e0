// Settings as people type them, made into the body of a change. Names and values are checked by the gateway, which answers with the field.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fairway::cli {

// key=value, values as in nginx.conf; `key=` returns the setting to what nginx.conf says. Settings that are counts become numbers when
// their value is one. Throws UsageError for what has no key, and for a key twice.
nlohmann::ordered_json parse_assignments(const std::vector<std::string>& texts);

// HOST[/PATH] each. Throws UsageError when there is no host.
nlohmann::ordered_json parse_attachments(const std::vector<std::string>& texts);

}  // namespace fairway::cli
