// Any text as a keys file: keys that sign, or a message that repeats nothing of the text.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "check.h"
#include "core/token.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fairway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string error;
  const std::unique_ptr<KeyRing> keys = KeyRing::parse(text, error);
  if (keys == nullptr) {
    FUZZ_CHECK(!error.empty() && error.size() < 120);
    FUZZ_CHECK(std::all_of(error.begin(), error.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    return 0;
  }
  FUZZ_CHECK(error.empty() && !keys->keys().empty() && keys->keys().size() <= size / 46);
  for (const Key& key : keys->keys()) {
    FUZZ_CHECK(!key.id.empty() && key.id.size() <= 8 && keys->find(key.id) == &key);
    FUZZ_CHECK(text.find(key.id + ":") != std::string_view::npos);
  }
  Token token;
  token.expires = 10;
  std::array<char, kMaxTokenSize> out;
  const std::size_t length = write_token(*keys, "sale", token, out);
  TokenContext context;
  context.room = "sale";
  FUZZ_CHECK(verify_token(*keys, context, {out.data(), length}, token) == TokenError::none);
  return 0;
}
