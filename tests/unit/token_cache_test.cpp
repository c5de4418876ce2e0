#include <gtest/gtest.h>

#include <string>

#include "token_samples.h"

namespace fairway::test {
namespace {

TEST(TokenCache, SecondLookIsAHit) {
  const auto keys = ring(kKey1);
  const Token token = sample_token(TokenKind::pass);
  const std::string text = write(*keys, "sale", token);
  TokenCache cache(8);
  Token read;
  EXPECT_EQ(cache.verify(*keys, context_for(token, "sale"), text, read), TokenError::none);
  EXPECT_EQ(cache.hits(), 0u);
  read = {};
  EXPECT_EQ(cache.verify(*keys, context_for(token, "sale"), text, read), TokenError::none);
  EXPECT_EQ(cache.hits(), 1u);
  EXPECT_EQ(read, token);
}

TEST(TokenCache, HitNeedsTheWholeText) {
  const auto keys = ring(kKey1);
  const Token token = sample_token(TokenKind::pass);
  const std::string text = write(*keys, "sale", token);
  TokenCache cache(1);
  Token read;
  ASSERT_EQ(cache.verify(*keys, context_for(token, "sale"), text, read), TokenError::none);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_NE(cache.verify(*keys, context_for(token, "sale"), changed, read), TokenError::none) << changed;
  }
  EXPECT_EQ(cache.hits(), 0u);
}

TEST(TokenCache, HitIsJudgedAnew) {
  const auto keys = ring(kKey1);
  Token token = sample_token(TokenKind::pass);
  token.network = {{1, 2, 3}, 3};
  const std::string text = write(*keys, "sale", token);
  const TokenContext good = context_for(token, "sale");
  TokenCache cache(8);
  Token read;
  ASSERT_EQ(cache.verify(*keys, good, text, read), TokenError::none);
  const auto with = [&](auto change) {
    TokenContext context = good;
    change(context);
    return cache.verify(*keys, context, text, read);
  };
  EXPECT_EQ(with([](TokenContext& context) { context.now += 10'000; }), TokenError::expired);
  EXPECT_EQ(with([](TokenContext& context) { context.now -= 100; }), TokenError::future);
  EXPECT_EQ(with([](TokenContext& context) { context.room = "other"; }), TokenError::wrong_room);
  EXPECT_EQ(with([](TokenContext& context) { context.kind = TokenKind::ticket; }), TokenError::wrong_kind);
  EXPECT_EQ(with([](TokenContext& context) { context.network.bytes[0] = 9; }), TokenError::wrong_network);
  EXPECT_EQ(cache.hits(), 5u);
}

TEST(TokenCache, RemovedKeyIsNotOutlived) {
  auto keys = ring(std::string(kKey2) + "\n" + kKey1);
  const Token token = sample_token(TokenKind::ticket);
  const std::string text = write(*ring(kKey1), "sale", token);
  TokenCache cache(8);
  Token read;
  ASSERT_EQ(cache.verify(*keys, context_for(token, "sale"), text, read), TokenError::none);
  // The new ring may well lie where the old one lay.
  keys.reset();
  keys = ring(kKey2);
  EXPECT_EQ(cache.verify(*keys, context_for(token, "sale"), text, read), TokenError::unknown_key);
  keys = ring("k1" + std::string(kKey2).substr(2));
  EXPECT_EQ(cache.verify(*keys, context_for(token, "sale"), text, read), TokenError::bad_mac);
  EXPECT_EQ(cache.hits(), 0u);
}

TEST(TokenCache, SlotsAreShared) {
  const auto keys = ring(kKey1);
  TokenCache cache(1);
  Token token = sample_token(TokenKind::pass);
  for (int i = 0; i < 100; ++i) {
    token.number = static_cast<std::uint64_t>(i % 2 + 1);
    const std::string text = write(*keys, "sale", token);
    Token read;
    ASSERT_EQ(cache.verify(*keys, context_for(token, "sale"), text, read), TokenError::none);
    ASSERT_EQ(read, token);
  }
  EXPECT_EQ(cache.hits(), 0u);
}

}  // namespace
}  // namespace fairway::test
