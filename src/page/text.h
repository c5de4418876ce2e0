// Values as text: escaped, grouped, in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "page/page.h"

namespace fairway::page {

// Safe as text and inside a quoted attribute.
void append_escaped(std::string_view text, std::string& out);
// 1342 as the language writes it: 1,342; 1.342; Spanish leaves four digits alone.
void append_grouped(std::uint64_t number, Language language, std::string& out);
// The estimate as a range in words: three quarters to five quarters of it, from 20 minutes on in steps of five.
// The same rule is in web/waiting/src/estimate.ts; both are tested with tests/unit/estimates.txt.
void append_estimate(std::optional<std::uint32_t> seconds, Language language, std::string& out);

}  // namespace fairway::page
