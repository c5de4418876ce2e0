// What holds for every token: one text, and no other text in its place.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "token_samples.h"

namespace fairway::test {
namespace {

const KeyRing& keys() {
  static const auto both = ring(std::string(kKey1) + "\n" + kKey2 + "\n");
  return *both;
}

RC_GTEST_PROP(TokenProperty, WhatIsWrittenIsRead, (Token token)) {
  const std::string room = *room_names();
  const std::string text = write(keys(), room, token);
  RC_ASSERT(!text.empty());
  Token read;
  RC_ASSERT(verify_token(keys(), context_for(token, room), text, read) == TokenError::none);
  RC_ASSERT(read == token);
  RC_ASSERT(write(keys(), room, read) == text);
}

RC_GTEST_PROP(TokenProperty, NoByteMayChange, (Token token)) {
  const std::string room = *room_names();
  const TokenContext context = context_for(token, room);
  const std::string text = write(keys(), room, token);
  Token read;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1 << *rc::gen::inRange(0, 8));
    RC_ASSERT(verify_token(keys(), context, changed, read) != TokenError::none);
    changed[at] = *rc::gen::suchThat(rc::gen::elementOf(std::string("0123456789abcdefghijklmnopqrstuvwxyzABCXYZ-_.=")),
                                     [&](char c) { return c != text[at]; });
    RC_ASSERT(verify_token(keys(), context, changed, read) != TokenError::none);
  }
}

RC_GTEST_PROP(TokenProperty, NothingMayBeCutOffOrAdded, (Token token)) {
  const std::string room = *room_names();
  const TokenContext context = context_for(token, room);
  const std::string text = write(keys(), room, token);
  Token read;
  for (std::size_t size = 0; size < text.size(); ++size) {
    RC_ASSERT(verify_token(keys(), context, std::string_view(text).substr(0, size), read) != TokenError::none);
    RC_ASSERT(verify_token(keys(), context, std::string_view(text).substr(size + 1), read) != TokenError::none);
  }
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  std::string longer = text;
  longer.insert(at, 1, *rc::gen::arbitrary<char>());
  if (longer != text) RC_ASSERT(verify_token(keys(), context, longer, read) != TokenError::none);
}

RC_GTEST_PROP(TokenProperty, FieldsOfTwoTokensDoNotMix, (Token one, Token other)) {
  const std::string room = *room_names();
  const std::string first = write(keys(), room, one);
  const std::string second = write(keys(), room, other);
  const std::string mixed = first.substr(0, first.rfind('.')) + second.substr(second.rfind('.'));
  Token read;
  const TokenError error = verify_token(keys(), context_for(one, room), mixed, read);
  RC_ASSERT(error == (first == second ? TokenError::none : TokenError::bad_mac));
}

RC_GTEST_PROP(TokenProperty, AnyTextIsHandled, ()) {
  const std::string text = *rc::gen::arbitrary<std::string>();
  Token read;
  TokenContext context;
  context.room = "sale";
  RC_ASSERT(verify_token(keys(), context, text, read) != TokenError::none);
  RC_ASSERT(read == Token{});
}

// A cache says at every moment what checking without it says, whatever was asked of it before and however keys change.
RC_GTEST_PROP(TokenProperty, CacheChangesNoAnswer, ()) {
  const std::string rooms[] = {"a", "b"};
  std::unique_ptr<KeyRing> rings[] = {ring(kKey1), ring(kKey2), ring(std::string(kKey2) + "\n" + kKey1)};
  std::vector<std::string> texts;
  for (int i = 0; i < 6; ++i) {
    Token token = sample_token(*rc::gen::element(TokenKind::pass, TokenKind::ticket));
    token.number += static_cast<std::uint64_t>(i);
    token.network = *rc::gen::element(Network{}, Network{{1, 2, 3}, 3});
    texts.push_back(write(*rings[*rc::gen::inRange(0, 3)], *rc::gen::elementOf(std::vector<std::string>{"a", "b"}), token));
    texts.push_back(texts.back());
    texts.back()[*rc::gen::inRange<std::size_t>(0, texts.back().size())] = 'x';
  }
  TokenCache cache(4);
  for (int i = 0; i < 200; ++i) {
    auto& keys = rings[*rc::gen::inRange(0, 3)];
    if (*rc::gen::inRange(0, 20) == 0) keys = ring(*rc::gen::element(std::string(kKey1), std::string(kKey2)));
    TokenContext context;
    context.room = rooms[*rc::gen::inRange(0, 2)];
    context.kind = *rc::gen::element(TokenKind::pass, TokenKind::ticket);
    context.now = *rc::gen::element(1'699'999'000, 1'700'000'100, 1'700'000'700);
    context.bind_network = *rc::gen::arbitrary<bool>();
    context.network = {{1, 2, 3}, 3};
    context.expired_grace = *rc::gen::element(0, 600);
    const std::string& text = *rc::gen::elementOf(texts);
    Token plain;
    Token cached;
    RC_ASSERT(cache.verify(*keys, context, text, cached) == verify_token(*keys, context, text, plain));
    RC_ASSERT(cached == plain);
  }
}

}  // namespace
}  // namespace fairway::test
