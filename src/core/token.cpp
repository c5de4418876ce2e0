#include "core/token.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/base64.h"
#include "core/hex.h"
#include "core/hmac.h"
#include "core/token_form.h"

namespace fairway {
namespace {

constexpr std::string_view kVersion = "v1";
constexpr std::int64_t kClockSkew = 60;  // s; clocks of gateways of one store may differ by this

// Writes fields and their dots; past the end it only notes that the text did not fit.
class Writer {
 public:
  explicit Writer(std::span<char, kMaxTokenSize> out) noexcept : begin_(out.data()), at_(begin_), end_(begin_ + out.size()) {}

  void field(std::string_view text) noexcept {
    char* to = take(text.size());
    if (to != nullptr) std::copy(text.begin(), text.end(), to);
    dot();
  }
  void field(std::span<const std::uint8_t> bytes) noexcept {
    char* to = take(bytes.size() * 2);
    if (to != nullptr) hex_encode(bytes, to);
    dot();
  }
  void field(std::uint64_t number) noexcept {
    const auto result = std::to_chars(at_, end_, number);
    failed_ |= result.ec != std::errc{};
    if (!failed_) at_ = result.ptr;
    dot();
  }
  void optional_field(std::uint64_t number) noexcept { number == 0 ? field("-") : field(number); }

  // Everything before the last dot.
  std::string_view signed_part() const noexcept { return {begin_, static_cast<std::size_t>(at_ - begin_) - 1}; }
  char* take(std::size_t size) noexcept {
    failed_ |= static_cast<std::size_t>(end_ - at_) < size;
    if (failed_) return nullptr;
    char* to = at_;
    at_ += size;
    return to;
  }
  bool failed() const noexcept { return failed_; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }

 private:
  void dot() noexcept {
    char* to = take(1);
    if (to != nullptr) *to = '.';
  }

  char* begin_;
  char* at_;
  char* end_;
  bool failed_ = false;
};

// Takes fields off the front of a text; after the first one that is not as it must be, everything fails.
class Reader {
 public:
  explicit Reader(std::string_view text) noexcept : rest_(text) {}

  std::string_view field() noexcept {
    if (ended_) return fail();
    const std::size_t dot = rest_.find('.');
    const std::string_view text = rest_.substr(0, dot);
    ended_ = dot == std::string_view::npos;
    rest_.remove_prefix(ended_ ? rest_.size() : dot + 1);
    return text;
  }
  std::uint64_t number(std::uint64_t max) noexcept { return number(field(), max); }
  std::int64_t time() noexcept { return static_cast<std::int64_t>(number(std::numeric_limits<std::int64_t>::max())); }
  // `-` is 0; a written 0 would be a second spelling of it.
  std::uint64_t optional_number() noexcept {
    const std::string_view text = field();
    if (text == "-") return 0;
    const std::uint64_t value = number(text, std::numeric_limits<std::uint64_t>::max());
    require(value != 0);
    return value;
  }
  Network network() noexcept {
    Network network;
    const std::string_view text = field();
    if (text == "-") return network;
    network.size = text.size() == 6 ? 3 : 6;
    require(hex_decode(text, std::span(network.bytes).first(network.size)));
    return network;
  }
  void require(bool condition) noexcept { good_ &= condition; }
  bool complete() const noexcept { return good_ && ended_; }

 private:
  std::string_view fail() noexcept {
    good_ = false;
    return {};
  }
  std::uint64_t number(std::string_view text, std::uint64_t max) noexcept {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    require(error == std::errc{} && stopped == end && value <= max && (text.front() != '0' || text.size() == 1));
    return value;
  }

  std::string_view rest_;
  bool ended_ = false;
  bool good_ = true;
};

struct Fields {
  std::string_view key_id;
  std::string_view room;
  Token token;
};

bool read_fields(std::string_view text, Fields& fields) noexcept {
  Reader reader(text);
  Token& token = fields.token;
  reader.require(reader.field() == kVersion);
  fields.key_id = reader.field();
  const std::string_view kind = reader.field();
  reader.require(kind == "a" || kind == "q");
  token.kind = kind == "a" ? TokenKind::pass : TokenKind::ticket;
  fields.room = reader.field();
  reader.require(is_room_name(fields.room));
  reader.require(Sid::from_hex(reader.field(), token.sid));
  token.issued = reader.time();
  token.expires = reader.time();
  token.epoch = reader.optional_number();
  token.number = reader.optional_number();
  reader.require((token.epoch == 0) == (token.number == 0));
  if (token.kind == TokenKind::pass) token.admitted = reader.time();
  token.network = reader.network();
  return reader.complete();
}

bool can_be_written(std::string_view room, const Token& token) noexcept {
  const bool known_kind = token.kind == TokenKind::pass || token.kind == TokenKind::ticket;
  const bool known_network = token.network.size == 0 || token.network.size == 3 || token.network.size == 6;
  return known_kind && known_network && is_room_name(room) && token.issued >= 0 && token.expires >= 0 && token.admitted >= 0 &&
         (token.epoch == 0) == (token.number == 0);
}

}  // namespace

std::string_view to_string(TokenError error) noexcept {
  switch (error) {
    case TokenError::none:
      return "none";
    case TokenError::malformed:
      return "malformed";
    case TokenError::unknown_key:
      return "unknown_key";
    case TokenError::bad_mac:
      return "bad_mac";
    case TokenError::wrong_room:
      return "wrong_room";
    case TokenError::wrong_kind:
      return "wrong_kind";
    case TokenError::expired:
      return "expired";
    case TokenError::future:
      return "future";
    case TokenError::wrong_network:
      return "wrong_network";
  }
  return "unknown";
}

bool is_room_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMaxRoomName &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::size_t write_token(const KeyRing& keys, std::string_view room, const Token& token, std::span<char, kMaxTokenSize> out) noexcept {
  if (!can_be_written(room, token)) return 0;
  const Key& key = keys.signing();
  const char kind = static_cast<char>(token.kind);
  Writer writer(out);
  writer.field(kVersion);
  writer.field(key.id);
  writer.field(std::string_view(&kind, 1));
  writer.field(room);
  writer.field(token.sid.bytes);
  writer.field(static_cast<std::uint64_t>(token.issued));
  writer.field(static_cast<std::uint64_t>(token.expires));
  writer.optional_field(token.epoch);
  writer.optional_field(token.number);
  if (token.kind == TokenKind::pass) writer.field(static_cast<std::uint64_t>(token.admitted));
  if (token.network.size == 0) {
    writer.field("-");
  } else {
    writer.field(std::span(token.network.bytes).first(token.network.size));
  }
  if (writer.failed()) return 0;
  const Bytes32 mac = hmac_sign(key, writer.signed_part());
  char* to = writer.take(kBase64Size32);
  if (to == nullptr) return 0;
  base64_encode(mac, Base64::url, std::span<char, kBase64Size32>(to, kBase64Size32));
  return writer.size();
}

TokenError read_signed(const KeyRing& keys, std::string_view text, SignedToken& out) noexcept {
  if (text.size() > kMaxTokenSize) return TokenError::malformed;
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return TokenError::malformed;
  const std::string_view message = text.substr(0, dot);
  Bytes32 mac;
  Fields fields;
  if (!base64_decode(text.substr(dot + 1), Base64::url, mac) || !read_fields(message, fields)) return TokenError::malformed;
  const Key* key = keys.find(fields.key_id);
  if (key == nullptr) return TokenError::unknown_key;
  if (CRYPTO_memcmp(hmac_sign(*key, message).data(), mac.data(), mac.size()) != 0) return TokenError::bad_mac;
  out = {fields.token, fields.room};
  return TokenError::none;
}

TokenError check_context(const TokenContext& context, const Token& token, std::string_view room) noexcept {
  if (room != context.room) return TokenError::wrong_room;
  if (token.kind != context.kind) return TokenError::wrong_kind;
  if (token.issued > context.now && token.issued - context.now > kClockSkew) return TokenError::future;
  if (context.now >= token.expires && context.now - token.expires >= context.expired_grace) return TokenError::expired;
  if (context.bind_network && token.network != context.network) return TokenError::wrong_network;
  return TokenError::none;
}

TokenError verify_token(const KeyRing& keys, const TokenContext& context, std::string_view text, Token& token) noexcept {
  SignedToken read;
  TokenError error = read_signed(keys, text, read);
  if (error == TokenError::none) error = check_context(context, read.token, read.room);
  if (error == TokenError::none) token = read.token;
  return error;
}

}  // namespace fairway
