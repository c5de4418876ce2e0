// What gateways of one store tell each other of their keys, so that one with a keys file of its own is noticed: ids, each with eight hex
// digits that only the same secret gives, since two files may use one id for different secrets. No more can be learned from them than
// whether two secrets are the same.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/token.h"

namespace fairway::operate {

inline constexpr std::size_t kMostSharedKeys = 32;

// "ID:DIGITS ID:DIGITS", the signing key first; the first kMostSharedKeys of the file.
std::string shared_keys(const KeyRing& keys);

struct KeyTrouble {
  std::vector<std::string> foreign;  // ids of keys that others sign with and that are not among ours
  bool unknown = false;              // somebody does not have the key that we sign with

  bool operator==(const KeyTrouble&) const = default;
};

// `ours` and `theirs` as shared_keys writes them. What is of another form is passed over.
KeyTrouble compare_keys(std::string_view ours, std::span<const std::string> theirs);

}  // namespace fairway::operate
