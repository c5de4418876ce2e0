#include "cli/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "cli/table.h"

namespace fairway::cli {
namespace {

constexpr double kLeft = 70, kRight = 20, kTop = 40, kBottom = 36;
constexpr std::array<const char*, 4> kColours{"#2563a8", "#c2571a", "#3f7d3a", "#7a4fa3"};

std::string fixed(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, int size = 12) {
  return "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\" text-anchor=\"" + anchor + "\" font-size=\"" + std::to_string(size) + "\">" +
         escaped(text) + "</text>\n";
}

std::string line_at(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + fixed(x1) + "\" y1=\"" + fixed(y1) + "\" x2=\"" + fixed(x2) + "\" y2=\"" + fixed(y2) +
         "\" stroke=\"currentColor\" stroke-opacity=\"0.2\"/>\n";
}

// A step of 1, 2 or 5 times a power of ten with at most five of them up to `most`.
double step_to(double most) {
  const double raw = most / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

// A step that is round as a time.
double time_step(double most) {
  for (const double step :
       {1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 21600.0, 43200.0}) {
    if (most / step <= 8) return step;
  }
  return 86'400 * std::ceil(most / 8 / 86'400);
}

struct Scale {
  double x_most, y_most, top;

  double x(double value) const { return kLeft + value / x_most * (kChartWidth - kLeft - kRight); }
  double y(double value) const { return top + kTop + (1 - value / y_most) * (kChartHeight - kTop - kBottom); }
};

Scale scale_of(const Chart& chart, int top) {
  double x = 0, y = 0;
  for (const Curve& curve : chart.curves) {
    for (const double value : curve.x) x = std::max(x, value);
    for (const double value : curve.y) y = std::max(y, value);
  }
  if (chart.share) y = 1;
  if (y <= 0) y = 1;
  const double step = step_to(y);
  return {x > 0 ? x : 1, chart.share ? 1 : step * std::ceil(y / step), static_cast<double>(top)};
}

std::string axes(const Chart& chart, const Scale& scale) {
  std::string svg;
  const double y_step = chart.share ? 0.25 : step_to(scale.y_most);
  for (int i = 0; i * y_step <= scale.y_most * 1.001; ++i) {
    const double value = i * y_step;
    svg += line_at(kLeft, scale.y(value), kChartWidth - kRight, scale.y(value));
    svg += text_at(kLeft - 8, scale.y(value) + 4, "end", chart.share ? readable_number(value * 100) + "%" : readable_number(value));
  }
  const double x_step = time_step(scale.x_most);
  for (int i = 0; i * x_step <= scale.x_most * 1.001; ++i) {
    svg += text_at(scale.x(i * x_step), scale.y(0) + 18, "middle", readable_seconds(i * x_step));
  }
  return svg;
}

std::string line_of(const Curve& curve, const Scale& scale, const char* colour) {
  std::string svg = "<polyline fill=\"none\" stroke-width=\"1.8\" stroke=\"" + std::string(colour) + "\" points=\"";
  for (std::size_t i = 0; i < curve.x.size(); ++i) svg += fixed(scale.x(curve.x[i])) + "," + fixed(scale.y(curve.y[i])) + " ";
  return svg + "\"/>\n";
}

}  // namespace

std::string chart_svg(const Chart& chart, int top) {
  const Scale scale = scale_of(chart, top);
  std::string svg = text_at(kLeft, top + 22, "start", chart.title, 15) + axes(chart, scale);
  double legend = kChartWidth - kRight;
  for (std::size_t i = chart.curves.size(); i-- > 0;) {
    const Curve& curve = chart.curves[i];
    const char* colour = kColours[i % kColours.size()];
    svg += line_of(curve, scale, colour);
    if (curve.name.empty()) continue;
    svg += "<g fill=\"" + std::string(colour) + "\">" + text_at(legend, top + 22, "end", curve.name, 13) + "</g>\n";
    legend -= 9.0 * static_cast<double>(width_of(curve.name)) + 16;
  }
  return svg;
}

std::string charts_svg(const std::string& title, const std::vector<Chart>& charts) {
  const int head = title.empty() ? 0 : 44;
  const std::string width = std::to_string(kChartWidth);
  const std::string height = std::to_string(head + kChartHeight * static_cast<int>(charts.size()));
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width + " " + height + "\" width=\"" + width +
                    "\" height=\"" + height + "\" font-family=\"sans-serif\" fill=\"currentColor\" role=\"img\">\n";
  if (!title.empty()) {  // a picture of its own: black on white wherever it is shown
    svg +=
        "<title>" + escaped(title) + "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<g fill=\"#000\" color=\"#000\">\n";
    svg += text_at(kLeft, 30, "start", title, 18);
  }
  int top = head;
  for (const Chart& chart : charts) {
    svg += chart_svg(chart, top);
    top += kChartHeight;
  }
  return svg + (title.empty() ? "</svg>\n" : "</g>\n</svg>\n");
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace fairway::cli
