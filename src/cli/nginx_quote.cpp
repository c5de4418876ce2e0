#include "cli/nginx_quote.h"

#include <algorithm>

#include "cli/failure.h"
#include "cli/values.h"

namespace fairway::cli {
namespace {

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}
bool is_harmless(char c) {
  return is_word(c) || std::string_view("/.:@%+=,").find(c) != std::string_view::npos;
}

}  // namespace

std::string nginx_quote(std::string_view text) {
  refuse_control_characters(text);
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_harmless)) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

void refuse_variables(std::string_view text) {
  if (text.find('$') != std::string_view::npos) throw UsageError("$ is not allowed, nginx would take it for a variable");
}

std::string nginx_prefix_pattern(std::string_view prefix) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string pattern = "~^";
  for (const char c : prefix) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_word(c) || c == '/') {
      pattern += c;
    } else if (c == '.') {
      pattern += "[.]";
    } else {
      pattern += "\\x";
      pattern += kHex[byte >> 4];
      pattern += kHex[byte & 15];
    }
  }
  return nginx_quote(pattern);
}

}  // namespace fairway::cli
