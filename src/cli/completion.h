// What makes a shell complete this command.
#pragma once

#include <string_view>

namespace fairway::cli {

std::string_view bash_completion() noexcept;  // completion.bash

}  // namespace fairway::cli
