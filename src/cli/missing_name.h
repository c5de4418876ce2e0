// What to say when nothing has the name that somebody typed.
#pragma once

#include <string>
#include <vector>

namespace fairway::cli {

// A sentence: there is no `kind` (a room) of that name, and which there are, those that look most like it first.
std::string missing_name(const std::string& kind, const std::string& name, std::vector<std::string> names);

}  // namespace fairway::cli
