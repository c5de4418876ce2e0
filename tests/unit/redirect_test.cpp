#include "core/redirect.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace fairway::test {
namespace {

std::string decode(std::string_view argument) {
  std::array<char, kMaxTarget> out;
  return std::string(decode_target(argument, out));
}

std::string location(std::string_view target) {
  std::string out(target.size() * 3, '?');
  out.resize(encode_location(target, out));
  return out;
}

std::string argument(std::string_view uri) {
  std::string out(uri.size() * 3, '?');
  out.resize(encode_argument(uri, out));
  return out;
}

TEST(Redirect, TakesPathsOfThisHost) {
  EXPECT_EQ(decode("/"), "/");
  EXPECT_EQ(decode("/a"), "/a");
  EXPECT_EQ(decode("%2Fa%2fb"), "/a/b");
  EXPECT_EQ(decode("/a%3Fx%3D1%26y%3D2"), "/a?x=1&y=2");
  EXPECT_EQ(decode("/a//b"), "/a//b");
  EXPECT_EQ(decode("/%C3%A4"), "/\xc3\xa4");
  EXPECT_EQ(decode("/a+b"), "/a+b");
}

TEST(Redirect, GoesNowhereElse) {
  for (const char* text : {"",
                           "a",
                           "http://evil.example/",
                           "//evil.example",
                           "/%2Fevil.example",
                           "%2F%2Fevil.example",
                           "/\\evil.example",
                           "/%5Cevil.example",
                           "/%5cevil.example",
                           "\\evil.example",
                           "/a\\b",
                           "/a%5Cb",
                           "/a b",
                           "/a%20b",
                           "/a%0D%0ASet-Cookie:x",
                           "/a\tb",
                           "/%09/evil.example",
                           "/%00",
                           "/a%7f",
                           "%20/a",
                           "%",
                           "%2",
                           "%zz",
                           "javascript:alert(1)",
                           "?x",
                           "%252Fa"}) {
    EXPECT_EQ(decode(text), "/") << text;
  }
  EXPECT_EQ(decode(std::string_view("/a\0b", 4)), "/");
}

TEST(Redirect, DecodesOnce) {
  EXPECT_EQ(decode("/%252F%252Fevil.example"), "/%2F%2Fevil.example");
  EXPECT_EQ(decode("/a%2520b"), "/a%20b");
  EXPECT_EQ(location(decode("/a%2520b%253F")), "/a%20b%3F");
}

TEST(Redirect, APercentSignWithoutDigitsIsItself) {
  EXPECT_EQ(decode("/100%"), "/100%");
  EXPECT_EQ(decode("/100%2"), "/100%2");
  EXPECT_EQ(decode("/%zz%g1%1g"), "/%zz%g1%1g");
  EXPECT_EQ(decode("/%%32F"), "/%2F");
}

TEST(Redirect, LengthCountsDecoded) {
  const std::string longest = "/" + std::string(kMaxTarget - 1, 'a');
  EXPECT_EQ(decode(longest), longest);
  EXPECT_EQ(decode(longest + "a"), "/");
  std::string escaped = "/";
  for (std::size_t i = 1; i < kMaxTarget; ++i) escaped += "%61";
  EXPECT_EQ(decode(escaped), longest);
  EXPECT_EQ(decode(escaped + "%61"), "/");
  EXPECT_EQ(decode(std::string(1'000'000, '/')), "/");
}

TEST(Redirect, LocationHoldsNoByteThatUrlsLack) {
  EXPECT_EQ(location("/a?b=c&d=[e]#f;g:h@i!j$k'l(m)n*o+p,q~r-s_t.u"), "/a?b=c&d=[e]#f;g:h@i!j$k'l(m)n*o+p,q~r-s_t.u");
  EXPECT_EQ(location("/\xc3\xa4\"<>^`{|}"), "/%C3%A4%22%3C%3E%5E%60%7B%7C%7D");
  EXPECT_EQ(location(std::string_view("\r\n\0 \\\x7f", 6)), "%0D%0A%00%20%5C%7F");
}

TEST(Redirect, TheUriComesBackAsItWent) {
  for (const char* uri :
       {"/a%20b?x=%2F", "/", "/?", "/a?to=/b?c&d=e#f", "/%2F%2f", "/a?x=100%", "/a?x=%zz", "/%25", "/a//b/../c", "/a;b=c,d"}) {
    EXPECT_EQ(location(decode(argument(uri))), uri);
  }
  EXPECT_EQ(argument("/a%20b?x=%2F"), "/a%2520b%3Fx%3D%252F");
}

RC_GTEST_PROP(RedirectProperty, EveryUriOfUrlBytesComesBackAsItWent, ()) {
  const std::string url = "abcXYZ019-._~:/?#[]@!$&'()*+,;=%%%%2F5c";
  std::string uri = "/" + *rc::gen::container<std::string>(rc::gen::elementOf(url));
  if (uri.size() > 1 && uri[1] == '/') uri[1] = 'x';
  RC_ASSERT(location(decode(argument(uri))) == uri);
}

RC_GTEST_PROP(RedirectProperty, AnyArgumentLeadsToThisHost, ()) {
  const auto bytes = rc::gen::oneOf(rc::gen::arbitrary<std::string>(),
                                    rc::gen::container<std::string>(rc::gen::elementOf(std::string("/\\%25cF0aA9 :.\t\x7f\x80"))));
  const std::string target = decode((*rc::gen::arbitrary<bool>() ? "/" : "") + *bytes);
  RC_ASSERT(target.front() == '/');
  RC_ASSERT(target.size() <= kMaxTarget);
  if (target.size() > 1) RC_ASSERT(target[1] != '/');
  for (const char c : target) {
    const auto byte = static_cast<unsigned char>(c);
    RC_ASSERT(byte > 0x20);
    RC_ASSERT(byte != 0x7f);
    RC_ASSERT(c != '\\');
  }
  const std::string written = location(target);
  for (const char c : written) RC_ASSERT(static_cast<unsigned char>(c) < 0x7f);
  RC_ASSERT(location(written) == written);
}

}  // namespace
}  // namespace fairway::test
