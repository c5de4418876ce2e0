// The operator's console as web/console/build.ts makes it at build time: one HTML page that holds its script and style, and the
// Content-Security-Policy that allows just these two.
#pragma once

#include <string_view>

namespace fairway::page {

extern const std::string_view console_html;
extern const std::string_view console_policy;

}  // namespace fairway::page
