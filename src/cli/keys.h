// The keys file: made, and rotated. Its form is that of core/token.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fairway::cli {

// A whole keys file with one random key. Throws RunError when the system has no randomness.
std::string new_keys_text();

enum class Place : std::uint8_t { first, second };

struct Rotated {
  std::string text;      // the file with a new line before or after its first key, everything else as it was
  std::string id;        // of the new key
  std::size_t keys = 0;  // in `text`
};
// Throws RunError when `text` is not a keys file; the message names the line and holds no secret.
Rotated rotate_keys(std::string_view text, Place place);

// Throws RunError, which names file and line and holds no secret, when nginx could not use it.
void check_keys_file(const std::string& file);

// `keys new` and `keys rotate`: what they print for people.
std::string keys_new_command(const std::string& output);
std::string keys_rotate_command(const std::string& file, Place place);

}  // namespace fairway::cli
