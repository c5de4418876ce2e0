// Asking nginx whether it takes the file, and saying in plain words what it did not like.
#pragma once

#include <string>
#include <string_view>

namespace fairway::cli {

// What the output of a failed `nginx -t` means, in one line or a few, with nginx's own words where they say it best.
std::string explain_nginx(std::string_view output);

// Runs `nginx -t` in `folder`. Throws RunError with the explanation.
void check_config(const std::string& nginx, const std::string& folder, const std::string& config);

}  // namespace fairway::cli
