// SipHash-2-4: the keyed hash for tables that clients can fill. Key is random at start.
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
