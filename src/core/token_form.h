// The two halves of checking a token, apart because a cache remembers the result of the first: what depends on the text and
// the keys alone, and what depends on the moment and the place. For token.cpp and token_cache.cpp only.
#pragma once

#include <string_view>

#include "core/token.h"

namespace fairway {

struct SignedToken {
  Token token;
  std::string_view room;  // into the text
};

// Form, key and signature.
TokenError read_signed(const KeyRing& keys, std::string_view text, SignedToken& out) noexcept;

// Room, kind, times, network. `room` is the token's own.
TokenError check_context(const TokenContext& context, const Token& token, std::string_view room) noexcept;

}  // namespace fairway
