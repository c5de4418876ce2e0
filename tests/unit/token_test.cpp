#include "core/token.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <string>
#include <vector>

#include "allocations.h"
#include "token_samples.h"

namespace fairway::test {
namespace {

// Signed by another program (Python's hmac and base64) with kKey1.
constexpr std::string_view kPass =
    "v1.k1.a.sale.00112233445566778899aabbccddeeff.1700000000.1700000600.1699999999000001.1700000000123456.1700000000.c0a801."
    "EuA4b9QB4ht6-yM6zwl6Q14qPS4TOE2i330MecPju1Q";
constexpr std::string_view kTicket =
    "v1.k1.q.sale.00112233445566778899aabbccddeeff.1700000000.1700000660.-.-.-.RXepvaxc3wJbspesMpIyF2ULcbD0xaRsPVygbPCBFVk";

Token pass_with_network() {
  Token token = sample_token(TokenKind::pass);
  token.network = {{0xc0, 0xa8, 0x01}, 3};
  return token;
}

Token bare_ticket() {
  Token token = sample_token(TokenKind::ticket);
  token.expires += 60;
  token.epoch = token.number = 0;
  return token;
}

// `body` with a good signature by kKey1, whatever it says.
std::string sign(const std::string& body) {
  std::array<unsigned char, 32> secret;
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<unsigned char>(i);
  std::array<unsigned char, 32> mac;
  HMAC(EVP_sha256(), secret.data(), secret.size(), reinterpret_cast<const unsigned char*>(body.data()), body.size(), mac.data(), nullptr);
  std::array<unsigned char, 45> base64;
  EVP_EncodeBlock(base64.data(), mac.data(), mac.size());
  std::string text(base64.begin(), base64.begin() + 43);
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return body + "." + text;
}

TokenError check(std::string_view text, const TokenContext& context) {
  Token token;
  return verify_token(*ring(kKey1), context, text, token);
}

TEST(Token, WritesTheDocumentedForm) {
  EXPECT_EQ(write(*ring(kKey1), "sale", pass_with_network()), kPass);
  EXPECT_EQ(write(*ring(kKey1), "sale", bare_ticket()), kTicket);
}

TEST(Token, ReadsWhatItWrote) {
  for (const Token& token : {pass_with_network(), bare_ticket()}) {
    Token read;
    const std::string text = write(*ring(kKey1), "sale", token);
    ASSERT_EQ(verify_token(*ring(kKey1), context_for(token, "sale"), text, read), TokenError::none);
    EXPECT_EQ(read, token);
  }
}

TEST(Token, LongestTokenFits) {
  Token token = sample_token(TokenKind::pass);
  token.issued = token.expires = token.admitted = std::numeric_limits<std::int64_t>::max();
  token.epoch = token.number = std::numeric_limits<std::uint64_t>::max();
  token.network = {{1, 2, 3, 4, 5, 6}, 6};
  const std::string room(kMaxRoomName, 'x');
  const auto keys = ring("12345678" + std::string(kKey1).substr(2));
  const std::string text = write(*keys, room, token);
  EXPECT_EQ(text.size(), 238u);
  Token read;
  TokenContext context = context_for(token, room);
  ASSERT_EQ(verify_token(*keys, context, text, read), TokenError::none);
  EXPECT_EQ(read, token);
}

TEST(Token, RefusesToWriteWhatItCouldNotRead) {
  const auto refused = [](std::string_view room, auto change) {
    Token token = sample_token(TokenKind::pass);
    change(token);
    return write(*ring(kKey1), room, token).empty();
  };
  EXPECT_FALSE(refused("sale", [](Token&) {}));
  EXPECT_TRUE(refused("", [](Token&) {}));
  EXPECT_TRUE(refused("a.b", [](Token&) {}));
  EXPECT_TRUE(refused("Sale", [](Token&) {}));
  EXPECT_TRUE(refused(std::string(33, 'a'), [](Token&) {}));
  EXPECT_TRUE(refused("sale", [](Token& token) { token.issued = -1; }));
  EXPECT_TRUE(refused("sale", [](Token& token) { token.expires = -1; }));
  EXPECT_TRUE(refused("sale", [](Token& token) { token.admitted = -1; }));
  EXPECT_TRUE(refused("sale", [](Token& token) { token.epoch = 0; }));
  EXPECT_TRUE(refused("sale", [](Token& token) { token.number = 0; }));
  EXPECT_TRUE(refused("sale", [](Token& token) { token.network.size = 4; }));
  EXPECT_TRUE(refused("sale", [](Token& token) { token.kind = static_cast<TokenKind>('x'); }));
}

TEST(Token, AnotherSpellingIsMalformedEvenIfSigned) {
  const std::string sid = "00112233445566778899aabbccddeeff";
  const TokenContext context = context_for(bare_ticket(), "sale");
  ASSERT_EQ(check(sign("v1.k1.q.sale." + sid + ".1700000000.1700000660.-.-.-"), context), TokenError::none);
  const std::vector<std::string> bodies = {
      "v2.k1.q.sale." + sid + ".1700000000.1700000660.-.-.-",
      "v1.k1.b.sale." + sid + ".1700000000.1700000660.-.-.-",
      "v1.k1.qq.sale." + sid + ".1700000000.1700000660.-.-.-",
      "v1.k1.q.Sale." + sid + ".1700000000.1700000660.-.-.-",
      "v1.k1.q.." + sid + ".1700000000.1700000660.-.-.-",
      "v1.k1.q.sale.00112233445566778899AABBCCDDEEFF.1700000000.1700000660.-.-.-",
      "v1.k1.q.sale.00112233445566778899aabbccddeef.1700000000.1700000660.-.-.-",
      "v1.k1.q.sale." + sid + ".01700000000.1700000660.-.-.-",
      "v1.k1.q.sale." + sid + ".+1700000000.1700000660.-.-.-",
      "v1.k1.q.sale." + sid + ".-1.1700000660.-.-.-",
      "v1.k1.q.sale." + sid + ". 1700000000.1700000660.-.-.-",
      "v1.k1.q.sale." + sid + "..1700000660.-.-.-",
      "v1.k1.q.sale." + sid + ".1700000000.9223372036854775808.-.-.-",            // 2^63
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.5.18446744073709551616.-",  // 2^64
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.-.5.-",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.5.-.-",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.0.0.-",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.0x5.5.-",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.-.-.c0a8",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.-.-.C0A801",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.-.-.c0a80101",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.-.-.",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.-.-",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.-.-.-.-",
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.-.-.-.",
      "v1.k1.a.sale." + sid + ".1700000000.1700000660.-.-.-",    // a pass without ADMITTED
      "v1.k1.q.sale." + sid + ".1700000000.1700000660.-.-.1.-",  // a ticket with it
      "",
  };
  for (const std::string& body : bodies) EXPECT_EQ(check(sign(body), context), TokenError::malformed) << body;
}

TEST(Token, SignatureHasOneSpelling) {
  const TokenContext context = context_for(bare_ticket(), "sale");
  const std::string good(kTicket);
  ASSERT_EQ(check(good, context), TokenError::none);
  std::string other = good;
  other.back() = static_cast<char>(other.back() + 1);  // k to l: only unused bits differ
  EXPECT_EQ(check(other, context), TokenError::malformed);
  EXPECT_EQ(check(good + "=", context), TokenError::malformed);
  EXPECT_EQ(check(good + " ", context), TokenError::malformed);
  EXPECT_EQ(check(" " + good, context), TokenError::malformed);
  EXPECT_EQ(check(good.substr(0, good.size() - 1), context), TokenError::malformed);
}

TEST(Token, IgnoresLongAndEmptyTexts) {
  const TokenContext context = context_for(bare_ticket(), "sale");
  EXPECT_EQ(check("", context), TokenError::malformed);
  EXPECT_EQ(check(".", context), TokenError::malformed);
  EXPECT_EQ(check(std::string(kMaxTokenSize, '.'), context), TokenError::malformed);
  EXPECT_EQ(check(std::string(1'000'000, 'a'), context), TokenError::malformed);
  EXPECT_EQ(check(sign("v1.k1.q." + std::string(400, 'a') + ".00112233445566778899aabbccddeeff.1.1.-.-.-"), context),
            TokenError::malformed);
}

TEST(Token, KeyMustBeKnownAndRight) {
  const Token token = bare_ticket();
  const TokenContext context = context_for(token, "sale");
  Token read;
  EXPECT_EQ(verify_token(*ring(kKey2), context, kTicket, read), TokenError::unknown_key);
  const auto same_id = ring("k1" + std::string(kKey2).substr(2));
  EXPECT_EQ(verify_token(*same_id, context, kTicket, read), TokenError::bad_mac);
  EXPECT_EQ(read, Token{});
}

TEST(Token, OldKeyVerifiesUntilItIsRemoved) {
  const std::string old_text = write(*ring(kKey1), "sale", bare_ticket());
  const auto rotated = ring(std::string(kKey2) + "\n" + kKey1 + "\n");
  const TokenContext context = context_for(bare_ticket(), "sale");
  Token read;
  EXPECT_EQ(verify_token(*rotated, context, old_text, read), TokenError::none);
  const std::string new_text = write(*rotated, "sale", bare_ticket());
  EXPECT_TRUE(new_text.starts_with("v1.k2.")) << new_text;
  EXPECT_EQ(verify_token(*ring(kKey2), context, new_text, read), TokenError::none);
  EXPECT_EQ(verify_token(*ring(kKey2), context, old_text, read), TokenError::unknown_key);
}

TEST(Token, RoomAndKindMustMatch) {
  TokenContext context = context_for(bare_ticket(), "sales");
  EXPECT_EQ(check(kTicket, context), TokenError::wrong_room);
  context = context_for(bare_ticket(), "sal");
  EXPECT_EQ(check(kTicket, context), TokenError::wrong_room);
  context = context_for(bare_ticket(), "sale");
  context.kind = TokenKind::pass;
  EXPECT_EQ(check(kTicket, context), TokenError::wrong_kind);
}

TEST(Token, TimesHaveExactEdges) {
  TokenContext context = context_for(bare_ticket(), "sale");
  const auto at = [&context](std::int64_t now) {
    context.now = now;
    return check(kTicket, context);
  };
  EXPECT_EQ(at(1'700'000'000 - 61), TokenError::future);
  EXPECT_EQ(at(1'700'000'000 - 60), TokenError::none);
  EXPECT_EQ(at(1'700'000'659), TokenError::none);
  EXPECT_EQ(at(1'700'000'660), TokenError::expired);
  context.expired_grace = 600;
  EXPECT_EQ(at(1'700'001'259), TokenError::none);
  EXPECT_EQ(at(1'700'001'260), TokenError::expired);
  EXPECT_EQ(at(std::numeric_limits<std::int64_t>::max()), TokenError::expired);
}

TEST(Token, NetworkCountsOnlyWhenBound) {
  TokenContext context = context_for(pass_with_network(), "sale");
  EXPECT_EQ(check(kPass, context), TokenError::none);
  context.network.bytes[2] = 2;
  EXPECT_EQ(check(kPass, context), TokenError::wrong_network);
  context.bind_network = false;
  EXPECT_EQ(check(kPass, context), TokenError::none);
  TokenContext bound = context_for(bare_ticket(), "sale");
  bound.bind_network = true;
  bound.network = {{0xc0, 0xa8, 0x01}, 3};
  EXPECT_EQ(check(kTicket, bound), TokenError::wrong_network);
}

TEST(Token, ErrorsHaveNames) {
  EXPECT_EQ(to_string(TokenError::none), "none");
  EXPECT_EQ(to_string(TokenError::bad_mac), "bad_mac");
  EXPECT_EQ(to_string(TokenError::wrong_network), "wrong_network");
}

TEST(Token, RoomNames) {
  for (const char* name : {"a", "sale", "a-1", "-", "0", "12345678901234567890123456789012"}) EXPECT_TRUE(is_room_name(name)) << name;
  for (const char* name : {"", "A", "a_b", "a.b", "a b", "\xc3\xa4", "123456789012345678901234567890123"})
    EXPECT_FALSE(is_room_name(name)) << name;
}

TEST(Token, WritingAndCheckingAllocateNothing) {
  ASSERT_TRUE(counts_openssl());
  const std::size_t at_start = allocations();
  const auto keys = ring(kKey1);
  ASSERT_GT(allocations(), at_start) << "the counter does not count";
  const Token token = pass_with_network();
  const TokenContext context = context_for(token, "sale");
  TokenCache cache(16);
  std::array<char, kMaxTokenSize> out;
  Token read;
  const std::size_t before = allocations();
  const std::size_t size = write_token(*keys, "sale", token, out);
  const std::string_view text(out.data(), size);
  const TokenError fresh = verify_token(*keys, context, text, read);
  const TokenError missed = cache.verify(*keys, context, text, read);
  const TokenError hit = cache.verify(*keys, context, text, read);
  const TokenError bad = verify_token(*keys, context, text.substr(1), read);
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(fresh, TokenError::none);
  EXPECT_EQ(missed, TokenError::none);
  EXPECT_EQ(hit, TokenError::none);
  EXPECT_EQ(cache.hits(), 1u);
  EXPECT_EQ(bad, TokenError::malformed);
}

}  // namespace
}  // namespace fairway::test
