// HMAC-SHA256 (RFC 2104) with the key's two inner states prepared once: a signature costs the hashing of its message alone.
// OpenSSL's EVP interface would allocate at each signature; only hmac.cpp knows the older calls.
#pragma once

#include <string_view>

#include "core/base64.h"
#include "core/token.h"

namespace fairway {

// Fills key.inner and key.outer from the secret.
void hmac_prepare(Key& key, const Bytes32& secret) noexcept;
Bytes32 hmac_sign(const Key& key, std::string_view message) noexcept;

}  // namespace fairway
