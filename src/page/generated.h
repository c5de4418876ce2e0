// What web/waiting/build.ts makes at build time: the built-in templates with what they share, and the words the server says itself.
#pragma once

#include <string_view>

#include "page/page.h"

namespace fairway::page::generated {

// Patterns: {low} and {high} are minutes, {hours} is two or more.
struct Sayings {
  std::string_view tag;
  std::size_t mark_from;  // numbers with fewer digits are not grouped
  std::string_view mark, eta_under, eta_range, eta_hour, eta_hours, eta_day, eta_unknown;
};

extern const std::string_view style;
extern const std::string_view script;
extern const std::string_view policy;
extern const std::string_view templates[kKinds][kLanguages];  // with {{style}} and {{script}} still in them
extern const Sayings sayings[kLanguages];

}  // namespace fairway::page::generated
