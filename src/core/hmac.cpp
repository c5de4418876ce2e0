// SHA256_Init and its sisters are marked deprecated since OpenSSL 3, in favour of calls that allocate.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "core/hmac.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>

namespace fairway {
namespace {

void start(SHA256_CTX& state, const Bytes32& secret, std::uint8_t pad) noexcept {
  std::array<std::uint8_t, SHA256_CBLOCK> block;
  block.fill(pad);
  std::transform(secret.begin(), secret.end(), block.begin(), [pad](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ pad); });
  SHA256_Init(&state);
  SHA256_Update(&state, block.data(), block.size());
  OPENSSL_cleanse(block.data(), block.size());
}

}  // namespace

void hmac_prepare(Key& key, const Bytes32& secret) noexcept {
  start(key.inner, secret, 0x36);
  start(key.outer, secret, 0x5c);
}

Bytes32 hmac_sign(const Key& key, std::string_view message) noexcept {
  Bytes32 digest;
  SHA256_CTX state = key.inner;
  SHA256_Update(&state, message.data(), message.size());
  SHA256_Final(digest.data(), &state);
  state = key.outer;
  SHA256_Update(&state, digest.data(), digest.size());
  SHA256_Final(digest.data(), &state);
  return digest;
}

}  // namespace fairway
