// One setting by name: what nginx.conf and the API may say of it, and how it is said. The same table serves both, so both take and
// refuse the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fairway::operate {

using Values = std::span<const std::string_view>;  // as many as the field's `at_least` and `at_most` say

enum class Form : std::uint8_t {
  number,  // a count: a number in JSON
  text,    // a word or value as nginx.conf has it; null in JSON when there is none
  note,    // free text: one value whatever it contains, never shown in an error
};

template <class Conf>
struct Field {
  std::string_view name;
  Form form;
  std::size_t at_least;  // values
  std::size_t at_most;
  const char* allowed;                              // completes `NAME must be …`
  bool (*set)(Conf& conf, Values values) noexcept;  // false: not what is allowed. Texts in `values` have to outlive `conf`.
  std::string (*get)(const Conf& conf);             // the shortest text that sets it so; several values with a blank between
};

// What is wrong with a setting, as a sentence that names what is allowed.
struct Problem {
  std::string field;
  std::string detail;
};

}  // namespace fairway::operate
