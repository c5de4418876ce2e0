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
  const Rotated rotated = rotate_keys(old);
  std::string error;
  const auto before = KeyRing::parse(old, error);
  const auto after = KeyRing::parse(rotated.text, error);
  ASSERT_NE(after, nullptr) << error;
  EXPECT_EQ(after->signing().id, rotated.id);
  EXPECT_NE(after->signing().id, before->signing().id);
  EXPECT_NE(after->find(before->signing().id), nullptr);
  EXPECT_EQ(rotated.keys, 2U);
  EXPECT_TRUE(rotated.text.ends_with(old));  // nothing of the user's is touched
}

TEST(KeysText, RotationOfSomethingElseFailsWithoutShowingIt) {
  try {
    rotate_keys("hunter2hunter2\n");
    FAIL();
  } catch (const RunError& error) {
    EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("line 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace fairway::cli
