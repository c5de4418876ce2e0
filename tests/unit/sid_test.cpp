#include "core/sid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "core/base64.h"

namespace fairway::test {
namespace {

TEST(Sid, ReadsOnlyThirtyTwoLowerCaseDigits) {
  Sid sid;
  ASSERT_TRUE(Sid::from_hex("00112233445566778899aabbccddeeff", sid));
  EXPECT_EQ(sid.bytes[1], 0x11);
  EXPECT_EQ(sid.bytes[15], 0xff);
  const Sid before = sid;
  for (const char* text :
       {"", "0", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeeff0", "00112233445566778899AABBCCDDEEFF",
        "00112233445566778899aabbccddeefg", " 0112233445566778899aabbccddeeff", "0x112233445566778899aabbccddeeff"}) {
    EXPECT_FALSE(Sid::from_hex(text, sid)) << text;
    EXPECT_EQ(sid, before);
  }
}

RC_GTEST_PROP(SidProperty, HexAndBack, ()) {
  Sid sid;
  sid.bytes = *rc::gen::arbitrary<std::array<std::uint8_t, 16>>();
  std::string text(32, '?');
  sid.to_hex(text.data());
  Sid read;
  RC_ASSERT(Sid::from_hex(text, read));
  RC_ASSERT(read == sid);
}

RC_GTEST_PROP(Base64Property, OneSpelling, ()) {
  const auto bytes = *rc::gen::arbitrary<Bytes32>();
  const Base64 alphabet = *rc::gen::element(Base64::standard, Base64::url);
  std::array<char, kBase64Size32> text;
  base64_encode(bytes, alphabet, text);
  Bytes32 read;
  RC_ASSERT(base64_decode({text.data(), text.size()}, alphabet, read));
  RC_ASSERT(read == bytes);
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = *rc::gen::arbitrary<char>();
  std::array<char, kBase64Size32> again;
  if (!base64_decode({text.data(), text.size()}, alphabet, read)) return;
  base64_encode(read, alphabet, again);
  RC_ASSERT(again == text);
}

}  // namespace
}  // namespace fairway::test
