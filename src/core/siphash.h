// SipHash-1-3: the keyed hash for tables that clients can fill. One round a word and three at the end are what the hash tables of
// several languages use: nobody who does not see the digests can aim at a place. Key is random at start.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairway {

struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

std::uint64_t siphash(const SipKey& key, const void* data, std::size_t size) noexcept;

}  // namespace fairway
