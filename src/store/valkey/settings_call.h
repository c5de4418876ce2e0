// One call of settings.lua as a command, and its reply: the text that the gateways of one store share, and who they are. What the
// text says is the caller's business.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/valkey/resp.h"

namespace fairway::valkey {

// The script's text and its SHA-1 in 40 hex digits, as EVALSHA wants it.
std::string_view settings_script_text() noexcept;
std::string_view settings_script_sha1() noexcept;

// Bytes; with room for everything else that may come in one reply.
inline constexpr std::size_t kMaxSettings = kMaxReplyBytes / 2;

struct SettingsRequest {
  std::string gateway;  // the caller's own name, the same after a restart; no blank
  std::string keys;     // what it tells the others of its keys; no secret
  std::string known;    // stamp of the text that the caller knows; empty: none
  std::string stamp;    // of a new text, random; empty: there is none
  std::string text;     // at most kMaxSettings
};

struct SettingsReply {
  struct Gateway {
    std::string id;
    std::string keys;
  };
  bool taken = false;             // the new text
  std::string stamp;              // of what the store has now; empty: it has none
  std::string text;               // empty when the caller knows it
  std::vector<Gateway> gateways;  // the others that were seen in the last minute
};

// Appends EVALSHA, or with `whole_script` EVAL, to `out`.
void append_settings_call(std::string& out, const SettingsRequest& request, bool whole_script);

// False, with `reply` in no certain state, when `value` is anything but such a reply.
bool read_settings_reply(const Value& value, SettingsReply& reply);

}  // namespace fairway::valkey
