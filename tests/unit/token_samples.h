// Keys, tokens and their generators for the tests of tokens.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <limits>
#include <memory>
#include <string>

#include "core/token.h"

namespace fairway::test {

// Bytes 0 to 31, and 32 times "B".
inline constexpr const char* kKey1 = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
inline constexpr const char* kKey2 = "k2:QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=";

inline std::unique_ptr<KeyRing> ring(const std::string& text) {
  std::string error;
  std::unique_ptr<KeyRing> keys = KeyRing::parse(text, error);
  EXPECT_NE(keys, nullptr) << error;
  return keys;
}

inline std::string write(const KeyRing& keys, std::string_view room, const Token& token) {
  std::array<char, kMaxTokenSize> out;
  return {out.data(), write_token(keys, room, token, out)};
}

inline Token sample_token(TokenKind kind) {
  Token token;
  token.kind = kind;
  EXPECT_TRUE(Sid::from_hex("00112233445566778899aabbccddeeff", token.sid));
  token.issued = 1'700'000'000;
  token.expires = 1'700'000'600;
  token.epoch = 1'699'999'999'000'001;
  token.number = 1'700'000'000'123'456;
  if (kind == TokenKind::pass) token.admitted = 1'700'000'000;
  return token;
}

// A context in which `token` is good.
inline TokenContext context_for(const Token& token, std::string_view room) {
  TokenContext context;
  context.room = room;
  context.kind = token.kind;
  context.now = token.issued > 0 ? token.issued - 1 : 0;
  context.bind_network = token.network.size != 0;
  context.network = token.network;
  context.expired_grace = context.now >= token.expires ? std::numeric_limits<std::int64_t>::max() : 0;
  return context;
}

}  // namespace fairway::test

namespace rc {

template <>
struct Arbitrary<fairway::Token> {
  static Gen<fairway::Token> arbitrary() {
    return gen::exec([] {
      fairway::Token token;
      token.kind = *gen::element(fairway::TokenKind::pass, fairway::TokenKind::ticket);
      token.sid.bytes = *gen::arbitrary<std::array<std::uint8_t, 16>>();
      // RapidCheck's numbers grow with the size of a case; the ends of the range are what breaks parsers.
      const auto number = gen::oneOf(gen::inRange<std::uint64_t>(1, 2'000'000'000), gen::positive<std::uint64_t>(),
                                     gen::just(std::numeric_limits<std::uint64_t>::max()));
      const auto time = gen::oneOf(gen::inRange<std::int64_t>(0, 2'000'000'000), gen::just(std::numeric_limits<std::int64_t>::max()),
                                   gen::just<std::int64_t>(0));
      token.issued = *time;
      token.expires = *time;
      if (*gen::arbitrary<bool>()) {
        token.epoch = *number;
        token.number = *number;
      }
      if (token.kind == fairway::TokenKind::pass) token.admitted = *time;
      token.network.size = *gen::element<std::uint8_t>(0, 3, 6);
      for (std::size_t i = 0; i < token.network.size; ++i) token.network.bytes[i] = *gen::arbitrary<std::uint8_t>();
      return token;
    });
  }
};

}  // namespace rc

namespace fairway::test {

inline rc::Gen<std::string> room_names() {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, kMaxRoomName + 1), [](std::size_t size) {
    return rc::gen::container<std::string>(size, rc::gen::elementOf(std::string("abcdefghijklmnopqrstuvwxyz0123456789-")));
  });
}

}  // namespace fairway::test
