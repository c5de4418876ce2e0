#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "token_samples.h"

namespace fairway::test {
namespace {

const std::string kSecret = std::string(kKey1).substr(3);

// The message for a text that is no keys file.
std::string refused(const std::string& text) {
  std::string error;
  EXPECT_EQ(KeyRing::parse(text, error), nullptr) << text;
  EXPECT_EQ(error.find(kSecret.substr(0, 10)), std::string::npos) << error;
  return error;
}

TEST(Keys, FirstSignsAllVerify) {
  const auto keys = ring(std::string("# two keys\n\n  ") + kKey1 + "\r\n\t" + kKey2 + "  # the old one\n");
  ASSERT_EQ(keys->keys().size(), 2u);
  EXPECT_EQ(keys->signing().id, "k1");
  ASSERT_NE(keys->find("k2"), nullptr);
  EXPECT_EQ(keys->find("k2")->id, "k2");
  EXPECT_EQ(keys->find("K1"), nullptr);
  EXPECT_EQ(keys->find("k"), nullptr);
  EXPECT_EQ(keys->find(""), nullptr);
}

TEST(Keys, LastLineNeedsNoEnd) {
  EXPECT_EQ(ring(kKey1)->keys().size(), 1u);
}

TEST(Keys, FaultsNameTheLine) {
  const std::string base64_fault = "the key must be 32 bytes in base64: 44 characters of A-Z a-z 0-9 + /, the last one =";
  const std::string id_fault = "the key id must be 1 to 8 letters and digits";
  EXPECT_EQ(refused(""), "there is no key in it");
  EXPECT_EQ(refused("# nothing\n\n"), "there is no key in it");
  EXPECT_EQ(refused(kSecret), "line 1: expected KEYID:BASE64");
  EXPECT_EQ(refused("\n#\n" + kSecret), "line 3: expected KEYID:BASE64");
  EXPECT_EQ(refused(":" + kSecret), "line 1: " + id_fault);
  EXPECT_EQ(refused("123456789:" + kSecret), "line 1: " + id_fault);
  EXPECT_EQ(refused("a-b:" + kSecret), "line 1: " + id_fault);
  EXPECT_EQ(refused("a :" + kSecret), "line 1: " + id_fault);
  EXPECT_EQ(refused(std::string(kKey2) + "\na:" + kSecret.substr(0, 43)), "line 2: " + base64_fault);
  EXPECT_EQ(refused("a:" + kSecret + "="), "line 1: " + base64_fault);
  EXPECT_EQ(refused("a: " + kSecret), "line 1: " + base64_fault);
  EXPECT_EQ(refused("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9="), "line 1: " + base64_fault);      // unused bits set
  EXPECT_EQ(refused("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh-="), "line 1: " + base64_fault);      // the other alphabet
  EXPECT_EQ(refused("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ=="), "line 1: " + base64_fault);  // 34 bytes
  EXPECT_EQ(refused(std::string(kKey1) + "\n\n" + kKey1), "line 3: the same key id as in line 1");
  EXPECT_EQ(refused(std::string("k\0:", 3) + kSecret), "line 1: " + id_fault);
}

TEST(Keys, EachRingHasItsOwnSerial) {
  std::set<std::uint64_t> serials{0};
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(serials.insert(ring(kKey1)->serial()).second);
}

TEST(Keys, MadeLinesAreKeysFiles) {
  std::string text;
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) {
    const std::string line = make_key_line(ids);
    ids.push_back(line.substr(0, line.find(':')));
    text.insert(0, "\n").insert(0, line);
  }
  const auto keys = ring(text);
  ASSERT_EQ(keys->keys().size(), 50u);
  EXPECT_EQ(keys->signing().id, ids.back());
}

TEST(Keys, MadeSecretsDiffer) {
  std::set<std::string> secrets;
  for (int i = 0; i < 50; ++i) {
    const std::string line = make_key_line();
    EXPECT_TRUE(secrets.insert(line.substr(line.find(':'))).second);
  }
}

RC_GTEST_PROP(KeysProperty, AnyTextGivesKeysOrAMessage, ()) {
  const auto lines = *rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
      rc::gen::just(std::string(kKey1)), rc::gen::just(std::string(kKey2)), rc::gen::just(std::string("# x")), rc::gen::just(std::string()),
      rc::gen::arbitrary<std::string>(), rc::gen::container<std::string>(rc::gen::elementOf(std::string("k1:AQ=# \r\n")))));
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  std::string error;
  const auto keys = KeyRing::parse(text, error);
  RC_ASSERT((keys == nullptr) == !error.empty());
  if (keys != nullptr) RC_ASSERT(!keys->keys().empty());
}

}  // namespace
}  // namespace fairway::test
