#include "cli/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace fairway::cli {
namespace {

// Bytes of the well-formed character that begins here, 0 when there is none (RFC 3629).
std::size_t character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool outside = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return overlong || outside ? 0 : length;
}

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::string short_text(const char* form, double value) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), form, value);
  return {text.data(), static_cast<std::size_t>(std::clamp(length, 0, static_cast<int>(text.size()) - 1))};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool control =
        length == 1 ? first < 0x20 || first == 0x7f : length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || control) {
      result += '?';
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string cut(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (!continues(text[end]) && seen++ == columns) break;
  }
  return std::string(text.substr(0, end));
}

std::string pad_right(std::string_view text, std::size_t columns) {
  const std::size_t width = width_of(text);
  return std::string(text) + std::string(columns > width ? columns - width : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t columns) {
  const std::size_t width = width_of(text);
  return std::string(columns > width ? columns - width : 0, ' ') + std::string(text);
}

std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    titles.push_back(columns[i].title);
    widths.push_back(width_of(columns[i].title));
    for (const auto& row : rows) widths[i] = std::max(widths[i], width_of(row.at(i)));
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      line += i == 0 ? "" : "  ";
      line += columns[i].number ? pad_left(row.at(i), widths[i]) : pad_right(row.at(i), widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  if (std::any_of(columns.begin(), columns.end(), [](const Column& column) { return !column.title.empty(); })) add(titles);
  for (const auto& row : rows) add(row);
  return text;
}

std::string readable_seconds(double seconds) {
  if (seconds <= 0) return "0s";
  if (seconds < 0.0005) return short_text("%.0fus", seconds * 1e6);
  if (seconds < 0.9995) return short_text("%.0fms", seconds * 1e3);
  if (seconds < 9.95) return readable_number(seconds) + "s";
  constexpr std::array<std::pair<double, const char*>, 4> units{{{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}}};
  double left = std::round(seconds);
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto& [size, name] = units.at(i);
    if (left < size) continue;
    std::string text = short_text("%.0f", std::floor(left / size)) + name;
    left = std::fmod(left, size);
    if (i + 1 < units.size() && left >= units.at(i + 1).first)
      text += " " + short_text("%.0f", std::floor(left / units.at(i + 1).first)) + units.at(i + 1).second;
    return text;
  }
  return "0s";
}

std::string readable_number(double value) {
  const double rounded = std::round(value * 10) / 10;
  return short_text(rounded == std::floor(rounded) ? "%.0f" : "%.1f", rounded);
}

}  // namespace fairway::cli
