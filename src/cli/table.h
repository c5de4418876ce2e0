// Text for a terminal: columns that line up, and numbers as people read them. Nothing from outside reaches the terminal as a command to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairway::cli {

// The text with control characters (also those of C1, and what is not UTF-8) as question marks.
std::string printable(std::string_view text);

// Characters, each taken to be one column wide.
std::size_t width_of(std::string_view text);

// At most that many characters of it.
std::string cut(std::string_view text, std::size_t columns);

// Padded with blanks to that many columns.
std::string pad_right(std::string_view text, std::size_t columns);
std::string pad_left(std::string_view text, std::size_t columns);

struct Column {
  std::string title;
  bool number = false;  // to the right
};

// Rows of text below their titles, two blanks between columns, no blanks at the end of a line. Every row has as many cells as there are
// columns.
std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

// A time as people read it: 0.42 s is "420ms", 65 s "1m 5s"; at most two units. Not negative.
std::string readable_seconds(double seconds);

// One decimal, none for whole numbers: "1.5", "12".
std::string readable_number(double value);

}  // namespace fairway::cli
