// The page around a simulation's plots.
#pragma once

#include <string_view>

namespace fairway::cli {

std::string_view report_page() noexcept;  // report.html

}  // namespace fairway::cli
