#include "cli/store_option.h"

#include <algorithm>
#include <array>

#include "cli/failure.h"
#include "cli/values.h"

namespace fairway::cli {
namespace {

constexpr const char* kAllowed =
    "give memory, memory SIZE (as in 64m), or valkey://, redis://, valkeys:// or rediss:// URLs, with options such as password=@FILE "
    "timeout=250ms";

bool is_url(std::string_view word) {
  constexpr std::array<std::string_view, 5> kStarts{"valkey://", "redis://", "valkeys://", "rediss://", "unix:/"};
  return std::any_of(kStarts.begin(), kStarts.end(), [word](std::string_view start) { return word.starts_with(start); });
}

bool is_option(std::string_view word) {
  constexpr std::array<std::string_view, 6> kNames{"timeout=", "breaker=", "sentinel=", "password=", "ca=", "verify="};
  return std::any_of(kNames.begin(), kNames.end(),
                     [word](std::string_view name) { return word.starts_with(name) && word.size() > name.size(); });
}

bool is_size(std::string_view word) {
  if (!word.empty() && std::string_view("kKmMgG").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The file of `word`, when it is `start` + file, made absolute: nginx would look for it below its own prefix.
std::string absolute_file(const std::string& word, std::string_view start, const std::string& directory) {
  if (!word.starts_with(start) || word.size() == start.size() || word[start.size()] == '/') return word;
  return std::string(start) + directory + "/" + word.substr(start.size());
}

}  // namespace

std::vector<std::string> parse_store(std::string_view text, const std::string& directory) {
  refuse_control_characters(text);
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (words.empty()) throw UsageError(kAllowed);
  if (words.front() == "memory") {
    if (words.size() > 2 || (words.size() == 2 && !is_size(words[1]))) throw UsageError(kAllowed);
    return words;
  }
  if (!is_url(words.front())) throw UsageError(kAllowed);
  for (std::string& word : words) {
    if (!is_url(word) && !is_option(word)) throw UsageError(kAllowed);
    word = absolute_file(absolute_file(word, "password=@", directory), "ca=", directory);
  }
  return words;
}

std::string mask_secret(std::string_view argument) {
  constexpr std::string_view kMask = "****";
  constexpr std::string_view kPassword = "password=";
  if (argument.starts_with(kPassword) && !argument.starts_with("password=@")) return std::string(kPassword) + std::string(kMask);
  const auto scheme = argument.find("://");
  if (scheme == std::string_view::npos) return std::string(argument);
  // The last @ ends the user part even when the password holds a slash or another @ that should have been escaped.
  const auto at = argument.rfind('@');
  if (at == std::string_view::npos || at < scheme + 3) return std::string(argument);
  const auto colon = argument.find(':', scheme + 3);
  const auto secret = colon != std::string_view::npos && colon < at ? colon + 1 : scheme + 3;
  return std::string(argument.substr(0, secret)) + std::string(kMask) + std::string(argument.substr(at));
}

}  // namespace fairway::cli
