// Passes and tickets: what visitors carry. A token is the memory of a place; whoever holds the keys can check it
// without asking anybody.
//
//   pass    v1.KEYID.a.ROOM.SID.ISSUED.EXPIRES.EPOCH.NUMBER.ADMITTED.NETWORK.MAC
//   ticket  v1.KEYID.q.ROOM.SID.ISSUED.EXPIRES.EPOCH.NUMBER.NETWORK.MAC
//
// Decimal numbers without leading zeros or signs, `-` for an absent EPOCH, NUMBER or NETWORK, MAC = unpadded base64url of
// HMAC-SHA256 over everything before its dot. Each token has exactly one spelling; any other text is malformed.
#pragma once

#include <openssl/sha.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sid.h"

namespace fairway {

inline constexpr std::size_t kMaxTokenSize = 512;  // bytes; longer ones are ignored unread
inline constexpr std::size_t kMaxRoomName = 32;

// [a-z0-9-]{1,32}
bool is_room_name(std::string_view name) noexcept;

enum class TokenKind : char { pass = 'a', ticket = 'q' };

struct Token {
  TokenKind kind = TokenKind::ticket;
  Sid sid;
  std::int64_t issued = 0;    // Unix seconds
  std::int64_t expires = 0;   // Unix seconds
  std::uint64_t epoch = 0;    // 0: none, written `-`
  std::uint64_t number = 0;   // 0: none, written `-`
  std::int64_t admitted = 0;  // Unix seconds; passes only
  Network network;

  bool operator==(const Token&) const = default;
};

enum class TokenError : std::uint8_t { none, malformed, unknown_key, bad_mac, wrong_room, wrong_kind, expired, future, wrong_network };
// Short name for logs and metrics, e.g. "bad_mac".
std::string_view to_string(TokenError error) noexcept;

// One signing key with its HMAC states prepared, so that signing and checking neither allocate nor hash the key again.
struct Key {
  std::string id;  // [A-Za-z0-9]{1,8}
  SHA256_CTX inner;
  SHA256_CTX outer;
};

// The keys file: one `keyid:base64-of-32-bytes` a line, the first key signs, all verify. Base64 is the standard alphabet with its
// padding. A `#` starts a comment anywhere; blanks around a line, empty lines and CR before LF are allowed; an id twice is an error.
// Immutable, so that several threads may use one.
class KeyRing {
 public:
  // Returns nullptr and a message naming the line (never the secret) when the text is not a keys file or holds no key.
  static std::unique_ptr<KeyRing> parse(std::string_view text, std::string& error);

  const Key& signing() const noexcept { return keys_.front(); }
  const Key* find(std::string_view id) const noexcept;
  std::span<const Key> keys() const noexcept { return keys_; }
  // Differs from that of every other ring of this process, past and present; never 0.
  std::uint64_t serial() const noexcept { return serial_; }

  KeyRing(const KeyRing&) = delete;
  KeyRing& operator=(const KeyRing&) = delete;

 private:
  explicit KeyRing(std::vector<Key> keys) noexcept;

  std::vector<Key> keys_;
  std::uint64_t serial_;
};

// A line for a keys file, without the line end: a random id not in `taken` (each a key id) and a random secret. Empty when no
// randomness is to be had.
std::string make_key_line(std::span<const std::string> taken = {});

// Writes the signed token, returns its length; 0 when it has no form that verify_token accepts: a wrong room name, a negative
// time, an epoch without number or the reverse, a network of other than 0, 3 or 6 bytes. A ticket's `admitted` is not written.
std::size_t write_token(const KeyRing& keys, std::string_view room, const Token& token, std::span<char, kMaxTokenSize> out) noexcept;

// What the checker expects of a token.
struct TokenContext {
  std::string_view room;
  TokenKind kind = TokenKind::ticket;
  std::int64_t now = 0;       // Unix seconds, not negative
  bool bind_network = false;  // when true the token's network must equal `network`
  Network network;
  std::int64_t expired_grace = 0;  // accepted while now < EXPIRES + this, seconds (check token.expires yourself when not 0)
};

// Checks everything: form, key, signature (constant time), room, kind, times, network. An issue time more than 60 s ahead is `future`.
// No allocation. `token` is written only when the result is none.
TokenError verify_token(const KeyRing& keys, const TokenContext& context, std::string_view text, Token& token) noexcept;

// Remembers tokens whose signature was found good, so that a browser's next request costs no HMAC. One per worker, fixed size,
// direct mapped; a hit needs the whole text to be equal (the signature in constant time) and the rest of the checks are done anew each
// time. What was found good under one ring is a miss under any other, so keys may change at any moment. Not for several threads.
class TokenCache {
 public:
  explicit TokenCache(std::size_t slots = 4096);  // rounded up to a power of two, about 360 bytes each
  ~TokenCache();
  TokenError verify(const KeyRing& keys, const TokenContext& context, std::string_view text, Token& token) noexcept;
  std::uint64_t hits() const noexcept { return hits_; }

 private:
  struct Slot;
  std::unique_ptr<Slot[]> slots_;
  std::size_t mask_;
  std::uint64_t hits_ = 0;
};

}  // namespace fairway
