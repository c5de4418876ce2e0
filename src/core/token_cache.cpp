#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base64.h"
#include "core/token_form.h"

namespace fairway {
namespace {

// The longest token there is has 238 bytes: 32 of room name, 8 of key id, every number at its longest.
constexpr std::size_t kMaxCached = 240;

// The first characters of a good signature are as random as any hash, and nobody without the key can choose them.
std::size_t slot_of(std::string_view text, std::size_t mask) noexcept {
  if (text.size() < kBase64Size32) return 0;
  std::uint64_t word = 0;
  std::memcpy(&word, text.data() + (text.size() - kBase64Size32), sizeof word);
  return static_cast<std::size_t>(word * 0x9e3779b97f4a7c15u >> 32) & mask;
}

// Signatures, in a time that does not depend on where they differ: eight bytes a step, the last step overlapping.
bool same_signature(const char* a, const char* b) noexcept {
  static_assert(kBase64Size32 >= 8);
  const auto difference = [a, b](std::size_t at) noexcept {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, a + at, sizeof x);
    std::memcpy(&y, b + at, sizeof y);
    return x ^ y;
  };
  std::uint64_t all = difference(kBase64Size32 - 8);
  for (std::size_t at = 0; at + 8 <= kBase64Size32; at += 8) all |= difference(at);
  return all == 0;
}

}  // namespace

struct TokenCache::Slot {
  std::uint64_t ring = 0;  // serial of the key ring that found the signature good; 0: empty
  Token token;
  std::uint16_t size = 0;
  std::uint16_t room_at = 0;
  std::uint16_t room_size = 0;
  std::array<char, kMaxCached> text;

  // Only the signature is secret; whoever knows it may learn from the time taken how much of the rest is right.
  bool holds(const KeyRing& keys, std::string_view other) const noexcept {
    if (ring != keys.serial() || size != other.size()) return false;
    const std::size_t message = size - kBase64Size32;
    return same_signature(text.data() + message, other.data() + message) && std::memcmp(text.data(), other.data(), message) == 0;
  }
  std::string_view room() const noexcept { return {text.data() + room_at, room_size}; }
  void fill(const KeyRing& keys, std::string_view from, const SignedToken& read) noexcept {
    ring = keys.serial();
    token = read.token;
    size = static_cast<std::uint16_t>(from.size());
    room_at = static_cast<std::uint16_t>(read.room.data() - from.data());
    room_size = static_cast<std::uint16_t>(read.room.size());
    std::copy(from.begin(), from.end(), text.begin());
  }
};

TokenCache::TokenCache(std::size_t slots) {
  const std::size_t size = std::bit_ceil(std::clamp<std::size_t>(slots, 1, std::size_t{1} << 20));
  slots_ = std::make_unique<Slot[]>(size);
  mask_ = size - 1;
}

TokenCache::~TokenCache() = default;

TokenError TokenCache::verify(const KeyRing& keys, const TokenContext& context, std::string_view text, Token& token) noexcept {
  Slot& slot = slots_[slot_of(text, mask_)];
  if (slot.holds(keys, text)) {
    ++hits_;
  } else {
    SignedToken read;
    const TokenError error = read_signed(keys, text, read);
    if (error != TokenError::none) return error;
    if (text.size() > kMaxCached) {
      const TokenError late = check_context(context, read.token, read.room);
      if (late == TokenError::none) token = read.token;
      return late;
    }
    slot.fill(keys, text, read);
  }
  const TokenError error = check_context(context, slot.token, slot.room());
  if (error == TokenError::none) token = slot.token;
  return error;
}

}  // namespace fairway
