// Any text as a token: as it comes, and with a good signature put behind it, so that the fields are reached. What is accepted
// has one spelling; a cache says the same as checking anew.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "check.h"
#include "core/base64.h"
#include "core/hmac.h"
#include "core/token.h"

namespace {

using namespace fairway;

const KeyRing& keys() {
  static const std::unique_ptr<KeyRing> ring = [] {
    std::string error;
    return KeyRing::parse("k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", error);
  }();
  return *ring;
}

TokenContext context_of(std::string_view text) {
  TokenContext context;
  context.room = "sale";
  context.kind = text.find(".a.") != std::string_view::npos ? TokenKind::pass : TokenKind::ticket;
  context.now = 1'700'000'000;
  context.bind_network = text.size() % 2 == 0;
  context.network = {{0xc0, 0xa8, 0x01}, 3};
  return context;
}

TokenError check(std::string_view text) {
  static TokenCache cache(64);
  Token token;
  Token cached;
  const TokenContext context = context_of(text);
  const TokenError error = verify_token(keys(), context, text, token);
  FUZZ_CHECK(cache.verify(keys(), context, text, cached) == error);
  FUZZ_CHECK(cached == token);
  if (error != TokenError::none) return error;
  std::array<char, kMaxTokenSize> again;
  const std::size_t size = write_token(keys(), context.room, token, again);
  FUZZ_CHECK(std::string_view(again.data(), size) == text);
  return error;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text);
  std::string signed_text(text);
  std::array<char, kBase64Size32> mac;
  base64_encode(hmac_sign(keys().signing(), text), Base64::url, mac);
  signed_text.append(1, '.').append(mac.data(), mac.size());
  if (check(signed_text) == TokenError::none && !signed_text.empty()) {
    const std::size_t at = size % signed_text.size();
    signed_text[at] = static_cast<char>(signed_text[at] ^ 1);
    FUZZ_CHECK(check(signed_text) != TokenError::none);
  }
  return 0;
}
