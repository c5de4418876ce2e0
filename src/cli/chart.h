// Plots as SVG that needs nothing else: lines over seconds, from 0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairway::cli {

struct Curve {
  std::string name;
  std::vector<double> x;  // rising; as many as y
  std::vector<double> y;
};

struct Chart {
  std::string title;
  bool share = false;  // y is a share of 1; else it begins at 0 and ends above the highest
  std::vector<Curve> curves;
};

inline constexpr int kChartWidth = 760;
inline constexpr int kChartHeight = 260;

// One plot, its upper left corner at (0, `top`).
std::string chart_svg(const Chart& chart, int top);
// All of them below each other as one picture: with a title a file of its own, without one a part of a page, in its colours.
std::string charts_svg(const std::string& title, const std::vector<Chart>& charts);

// For text between tags and in attributes.
std::string escaped(std::string_view text);

}  // namespace fairway::cli
