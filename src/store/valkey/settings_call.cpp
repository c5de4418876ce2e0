#include "store/valkey/settings_call.h"

#include <algorithm>
#include <array>

#include "store/valkey/protocol.h"

namespace fairway::valkey {

std::string_view settings_script_sha1() noexcept {
  static const std::array<char, 40> hex = sha1_hex(settings_script_text());
  return {hex.data(), hex.size()};
}

void append_settings_call(std::string& out, const SettingsRequest& request, bool whole_script) {
  // One hash tag for both, which no room's keys are in the way of: those end otherwise.
  const std::array<std::string_view, 10> words = {whole_script ? "EVAL" : "EVALSHA",
                                                  whole_script ? settings_script_text() : settings_script_sha1(),
                                                  "2",
                                                  "fairway:{all}:settings",
                                                  "fairway:{all}:gateways",
                                                  request.gateway,
                                                  request.keys,
                                                  request.known,
                                                  request.stamp,
                                                  request.text};
  append_command(out, words);
}

bool read_settings_reply(const Value& value, SettingsReply& reply) {
  using Type = Value::Type;
  const std::vector<Value>& items = value.items;
  if (value.type != Type::array || items.size() < 3 || items[0].type != Type::integer) return false;
  if (!std::all_of(items.begin() + 1, items.end(), [](const Value& item) { return item.type == Type::text; })) return false;
  reply = {items[0].integer == 1, items[1].text, items[2].text, {}};
  for (std::size_t i = 3; i < items.size(); ++i) {
    const std::string& member = items[i].text;
    const std::size_t blank = member.find(' ');
    if (blank == std::string::npos) return false;
    reply.gateways.push_back({member.substr(0, blank), member.substr(blank + 1)});
  }
  return true;
}

}  // namespace fairway::valkey
