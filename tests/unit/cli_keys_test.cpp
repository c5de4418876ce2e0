#include <gtest/gtest.h>

#include <memory>

#include "cli/failure.h"
#include "cli/keys.h"
#include "core/token.h"

namespace fairway::cli {
namespace {

TEST(KeysText, NewOnesDifferAndAreKeys) {
  const std::string text = new_keys_text();
  std::string error;
  const auto ring = KeyRing::parse(text, error);
  ASSERT_NE(ring, nullptr) << error;
  EXPECT_EQ(ring->keys().size(), 1U);
  EXPECT_NE(new_keys_text(), text);
}

TEST(KeysText, RotationSignsWithTheNewAndVerifiesTheOld) {
  const std::string old = new_keys_text() + "# a note\n";
  const Rotated rotated = rotate_keys(old, Place::first);
  std::string error;
  const auto before = KeyRing::parse(old, error);
  const auto after = KeyRing::parse(rotated.text, error);
  ASSERT_NE(after, nullptr) << error;
  EXPECT_EQ(after->signing().id, rotated.id);
  EXPECT_NE(after->signing().id, before->signing().id);
  EXPECT_NE(after->find(before->signing().id), nullptr);
  EXPECT_EQ(rotated.keys, 2U);
}

// The text that was added, when everything else is as it was.
std::string added(const std::string& old, const std::string& text, const std::string& id) {
  const auto at = text.find(id + ":");
  const auto size = text.find('\n', at) + 1 - at;
  EXPECT_EQ(text.substr(0, at) + text.substr(at + size), old);
  return text.substr(at, size);
}

TEST(KeysText, TheNewLineStandsBelowTheHeadComment) {
  const std::string key = "abc:" + std::string(43, 'A') + "=";
  for (const std::string& head : {std::string(), std::string("# one\n\n  # two: \r\n"), std::string("\n\n")}) {
    for (const std::string& rest : {std::string("\n"), "\n# a note\n \tabd:" + std::string(43, 'E') + "= # another\n"}) {
      const std::string old = head + key + rest;
      const Rotated first = rotate_keys(old, Place::first);
      EXPECT_EQ(first.text, head + added(old, first.text, first.id) + key + rest);
      const Rotated second = rotate_keys(old, Place::second);
      EXPECT_EQ(second.text, head + key + "\n" + added(old, second.text, second.id) + rest.substr(1));
    }
  }
}

TEST(KeysText, ASecondKeyIsKnownAndDoesNotSign) {
  const std::string key = "abc:" + std::string(43, 'A') + "=";  // and no line end
  const Rotated rotated = rotate_keys(key, Place::second);
  std::string error;
  const auto ring = KeyRing::parse(rotated.text, error);
  ASSERT_NE(ring, nullptr) << error;
  EXPECT_EQ(ring->signing().id, "abc");
  EXPECT_NE(ring->find(rotated.id), nullptr);
  EXPECT_EQ(ring->keys().size(), 2U);
}

TEST(KeysText, RotationOfSomethingElseFailsWithoutShowingIt) {
  try {
    rotate_keys("hunter2hunter2\n", Place::first);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("line 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace fairway::cli
