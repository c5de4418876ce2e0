// What gateways tell each other of their keys.
#include <gtest/gtest.h>

#include "operate/shared_keys.h"

namespace fairway::operate {
namespace {

// A keys file of these ids; each secret is 32 times the letter.
std::string keys_of(const std::vector<std::pair<std::string, char>>& keys) {
  std::string text;
  for (const auto& [id, letter] : keys) {
    const std::string secret(42, letter);  // base64 of 32 bytes, but for the last digit
    text += id + ":" + secret + "A=\n";
  }
  std::string error;
  const auto ring = KeyRing::parse(text, error);
  EXPECT_NE(ring, nullptr) << error;
  return shared_keys(*ring);
}

TEST(SharedKeys, TellIdsAndNoSecret) {
  const std::string text = keys_of({{"k1", 'a'}, {"k2", 'b'}});
  EXPECT_EQ(text.size(), 2 * 11 + 1U);
  EXPECT_EQ(text.substr(0, 3), "k1:");
  EXPECT_EQ(text.substr(11, 4), " k2:");
  EXPECT_EQ(text, keys_of({{"k1", 'a'}, {"k2", 'b'}}));
  EXPECT_EQ(text.find("aaaa"), std::string::npos);
}

TEST(SharedKeys, ThoseOfOneFileAreNoTrouble) {
  const std::string ours = keys_of({{"k1", 'a'}, {"k2", 'b'}});
  EXPECT_EQ(compare_keys(ours, {}), KeyTrouble{});
  EXPECT_EQ(compare_keys(ours, std::vector{ours, ours}), KeyTrouble{});
}

TEST(SharedKeys, ARotationInItsOrderIsNoTrouble) {
  const std::vector<std::string> steps = {keys_of({{"k1", 'a'}}), keys_of({{"k1", 'a'}, {"k2", 'b'}}), keys_of({{"k2", 'b'}, {"k1", 'a'}}),
                                          keys_of({{"k2", 'b'}})};
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    EXPECT_EQ(compare_keys(steps[i], std::vector{steps[i + 1]}), KeyTrouble{}) << i;
    EXPECT_EQ(compare_keys(steps[i + 1], std::vector{steps[i]}), KeyTrouble{}) << i;
  }
  EXPECT_EQ(compare_keys(steps[0], std::vector{steps[2]}), (KeyTrouble{{"k2"}, false})) << "a step was left out";
  EXPECT_EQ(compare_keys(steps[2], std::vector{steps[0]}), (KeyTrouble{{}, true}));
}

TEST(SharedKeys, AForeignSigningKeyIsTold) {
  const std::string ours = keys_of({{"k1", 'a'}});
  const std::vector<std::string> theirs = {keys_of({{"z", 'b'}}), ours, keys_of({{"k9", 'c'}, {"k1", 'a'}}), keys_of({{"z", 'd'}})};
  EXPECT_EQ(compare_keys(ours, theirs), (KeyTrouble{{"k9", "z"}, true}));
}

TEST(SharedKeys, OneIdForTwoSecretsIsForeign) {
  EXPECT_EQ(compare_keys(keys_of({{"k1", 'a'}}), std::vector{keys_of({{"k1", 'b'}})}), (KeyTrouble{{"k1"}, true}));
}

TEST(SharedKeys, WhatIsOfAnotherFormIsPassedOver) {
  const std::string ours = keys_of({{"k1", 'a'}});
  for (const char* wrong : {"", " ", "k1", ":", "a b", "k-1:00000000", "toolongid:00000000", "<b>:1"}) {
    EXPECT_EQ(compare_keys(ours, std::vector<std::string>{wrong}), KeyTrouble{}) << wrong;
  }
}

}  // namespace
}  // namespace fairway::operate
