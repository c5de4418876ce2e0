#include "cli/assignments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "cli/failure.h"
#include "operate/settings_json.h"

namespace fairway::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kCounts{"capacity", "max_waiting", "page_status"};

Json value_of(std::string_view key, const std::string& text) {
  if (text.empty()) return nullptr;
  const bool count = std::find(kCounts.begin(), kCounts.end(), key) != kCounts.end();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (count && error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

}  // namespace

Json parse_assignments(const std::vector<std::string>& texts) {
  Json settings = Json::object();
  for (const std::string& text : texts) {
    const std::size_t mark = text.find('=');
    if (mark == std::string::npos || mark == 0)
      throw UsageError("\"" + text + "\" is not key=value, as in capacity=500 or message=\"Soon.\"");
    const std::string key = text.substr(0, mark);
    if (key == "attach" && mark + 1 != text.size())
      throw UsageError("attach= takes the room off its hosts; --attach HOST/PATH puts it on some");
    if (settings.contains(key)) throw UsageError("\"" + key + "\" is set twice");
    settings[key] = value_of(key, text.substr(mark + 1));
  }
  return settings;
}

Json parse_attachments(const std::vector<std::string>& texts) {
  if (texts.size() > operate::kMaxAttachments)
    throw UsageError("a room can be attached to at most " + std::to_string(operate::kMaxAttachments) + " places");
  Json list = Json::array();
  for (const std::string& text : texts) {
    const std::size_t slash = text.find('/');
    const std::string host = text.substr(0, slash);
    if (host.empty()) throw UsageError("--attach \"" + text + "\": a host comes first, as in shop.example.com/checkout");
    list.push_back({{"host", host}, {"path", slash == std::string::npos ? "/" : text.substr(slash)}});
  }
  return list;
}

}  // namespace fairway::cli
