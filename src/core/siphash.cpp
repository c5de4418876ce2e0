#include "core/siphash.h"

#include <bit>
#include <cstring>

namespace fairway {
namespace {

struct State {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void word(std::uint64_t m) noexcept {
    v3 ^= m;
    round();
    v0 ^= m;
  }
};

static_assert(std::endian::native == std::endian::little, "siphash() reads words as they lie");

}  // namespace

// Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), with 1 and 3 rounds.
std::uint64_t siphash(const SipKey& key, const void* data, std::size_t size) noexcept {
  State state{key.k0 ^ 0x736f6d6570736575, key.k1 ^ 0x646f72616e646f6d, key.k0 ^ 0x6c7967656e657261, key.k1 ^ 0x7465646279746573};
  const auto* bytes = static_cast<const unsigned char*>(data);
  const std::size_t whole = size & ~std::size_t{7};
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < whole; at += 8) {
    std::memcpy(&word, bytes + at, 8);
    state.word(word);
  }
  word = 0;
  if (size != whole) std::memcpy(&word, bytes + whole, size - whole);
  state.word(word | std::uint64_t{size} << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < 3; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace fairway
