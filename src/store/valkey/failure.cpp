#include "store/valkey/failure.h"

#include <array>

namespace fairway::valkey {
namespace {

struct Code {
  std::string_view text;
  Failure failure;
};

constexpr std::array<Code, 14> kCodes{{
    {"NOSCRIPT", Failure::no_script},
    {"MOVED", Failure::moved},
    {"ASK", Failure::ask},
    {"TRYAGAIN", Failure::try_again},
    {"CLUSTERDOWN", Failure::cluster_down},
    {"LOADING", Failure::loading},
    {"READONLY", Failure::readonly},
    {"MASTERDOWN", Failure::master_down},
    {"NOAUTH", Failure::no_auth},
    {"WRONGPASS", Failure::no_auth},
    {"NOPERM", Failure::no_auth},
    {"OOM", Failure::out_of_memory},
    {"ERR invalid password", Failure::no_auth},
    {"ERR Protocol error: unauthenticated", Failure::no_auth},  // a command of more than ten words before AUTH
}};

// Codes that a script can run into after it started, wrapped by servers before 7.0 into the text of another error.
constexpr bool may_be_wrapped(Failure failure) {
  return failure == Failure::readonly || failure == Failure::master_down || failure == Failure::out_of_memory ||
         failure == Failure::no_auth;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.starts_with(word) && (text.size() == word.size() || text[word.size()] == ' ');
}

}  // namespace

std::string_view to_string(Failure failure) noexcept {
  constexpr std::array<std::string_view, 17> kNames{"none",        "transport", "timeout",      "protocol",  "loading",      "readonly",
                                                    "master_down", "no_auth",   "cluster_down", "no_master", "redirects",    "error",
                                                    "no_script",   "moved",     "ask",          "try_again", "out_of_memory"};
  return kNames[static_cast<std::size_t>(failure)];
}

Failure classify(std::string_view text) noexcept {
  for (const Code& code : kCodes) {
    if (starts_with_word(text, code.text)) return code.failure;
  }
  for (const Code& code : kCodes) {
    if (!may_be_wrapped(code.failure)) continue;
    const auto at = text.find(code.text);
    if (at != std::string_view::npos && at > 0 && text[at - 1] == '-' && starts_with_word(text.substr(at), code.text)) return code.failure;
  }
  return Failure::error;
}

}  // namespace fairway::valkey
