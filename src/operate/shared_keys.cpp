#include "operate/shared_keys.h"

#include <algorithm>

#include "core/hex.h"
#include "core/hmac.h"

namespace fairway::operate {

namespace {

constexpr std::size_t kCheckBytes = 4;
constexpr std::size_t kMaxId = 8;

bool is_id(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxId &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty() && words.size() < kMostSharedKeys) {
    const std::string_view word = text.substr(0, text.find(' '));
    const std::size_t colon = word.find(':');
    if (colon != std::string_view::npos && is_id(word.substr(0, colon))) {
      words.push_back(word);
    }
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return words;
}

bool holds(const std::vector<std::string_view>& words, std::string_view word) noexcept {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::string shared_keys(const KeyRing& keys) {
  std::string text;
  for (const Key& key : keys.keys().first(std::min(keys.keys().size(), kMostSharedKeys))) {
    const Bytes32 mac = hmac_sign(key, "fairway: which key is this?");
    char digits[2 * kCheckBytes];
    hex_encode(std::span(mac).first(kCheckBytes), digits);
    text.append(text.empty() ? "" : " ").append(key.id).append(":").append(digits, sizeof(digits));
  }
  return text;
}

KeyTrouble compare_keys(std::string_view ours, std::span<const std::string> theirs) {
  KeyTrouble trouble;
  const auto mine = words_of(ours);
  for (const std::string& text : theirs) {
    const auto words = words_of(text);
    if (words.empty() || mine.empty()) {
      continue;
    }
    const std::string signing(words.front().substr(0, words.front().find(':')));
    if (!holds(mine, words.front()) && std::ranges::find(trouble.foreign, signing) == trouble.foreign.end()) {
      trouble.foreign.push_back(signing);
    }
    trouble.unknown = trouble.unknown || !holds(words, mine.front());
  }
  std::ranges::sort(trouble.foreign);
  return trouble;
}

}  // namespace fairway::operate
