// Who a client is to a fair queue: the outer key is its network (an address prefix, kept and compared in full), the inner key one
// session in that network (a keyed hash of its address, cookies and headers). Clients choose cookies and headers, so the hash is
// SipHash with a secret key: nobody can aim keys at one place of a table. No allocation, no failure; pure functions of their input.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/siphash.h"

namespace fairway {

enum class AddressFamily : std::uint8_t { unknown, unix_socket, v4, v6 };

// A client's address in network byte order; unused bytes are zero. Port and zone are no part of it.
struct ClientAddress {
  AddressFamily family = AddressFamily::unknown;
  std::array<std::uint8_t, 16> bytes{};

  static ClientAddress v4(std::span<const std::uint8_t, 4> bytes) noexcept;
  // An IPv4-mapped address (::ffff:a.b.c.d) becomes the IPv4 address.
  static ClientAddress v6(std::span<const std::uint8_t, 16> bytes) noexcept;
  static ClientAddress unix_socket() noexcept { return {AddressFamily::unix_socket, {}}; }
  static ClientAddress unknown() noexcept { return {}; }

  bool operator==(const ClientAddress&) const = default;
};

// A client network. Unix sockets and unknown families are one network each. No padding: it is hashed as it lies.
struct OuterKey {
  AddressFamily family = AddressFamily::unknown;
  std::uint8_t bits = 0;  // length of the prefix: 0 to 32 or 0 to 128
  std::array<std::uint8_t, 16> bytes{};

  bool operator==(const OuterKey&) const = default;
};
static_assert(sizeof(OuterKey) == 18);

// The network of `address`: its first `v4_bits` (at most 32) or `v6_bits` (at most 128) bits; larger values count as the maximum.
OuterKey outer_key(const ClientAddress& address, unsigned v4_bits, unsigned v6_bits) noexcept;

inline constexpr std::size_t kMaxOuterKeyText = 48;
// Writes "203.0.113.0/24", "2001:db8:0:100::/56" (RFC 5952), "unix" or "unknown"; returns the length, at most kMaxOuterKeyText.
std::size_t print(const OuterKey& key, std::span<char, kMaxOuterKeyText> out) noexcept;

inline constexpr std::size_t kMaxHashedBytes = 4096;  // of one client, all fields together

// Gathers what tells the sessions of a network apart and hashes it. Call address() first if it counts, then one add() or absent()
// for each configured cookie and header, always in the same order. Each field is written with its kind, and a value with its length
// before it, so no two lists of fields give the same bytes; what is beyond kMaxHashedBytes is left out (its length still counts).
class InnerKey {
 public:
  explicit InnerKey(const OuterKey& network) noexcept;

  void address(const ClientAddress& address) noexcept;
  void add(std::string_view value) noexcept;  // present, even if empty
  void absent() noexcept {
    if (size_ != kMaxHashedBytes) buffer_[size_++] = static_cast<std::uint8_t>(Kind::absent);
  }
  std::uint64_t digest(const SipKey& key) const noexcept { return siphash(key, buffer_.data(), size_); }
  std::size_t size() const noexcept { return size_; }  // bytes gathered, at most kMaxHashedBytes

 private:
  enum class Kind : std::uint8_t { address, value, absent };

  std::size_t size_ = 0;
  std::array<std::uint8_t, kMaxHashedBytes> buffer_;  // only the first size_ bytes are ever read
};

// The two keys by which a fair queue knows a request, with the hash that finds the first; to be made outside of any lock.
struct FlowKeys {
  FlowKeys() = default;
  FlowKeys(const SipKey& key, const OuterKey& outer_key, std::uint64_t inner_digest) noexcept
      : outer(outer_key), inner(inner_digest), outer_hash(siphash(key, &outer_key, sizeof outer_key)) {}

  OuterKey outer;
  std::uint64_t inner = 0;
  std::uint64_t outer_hash = 0;
};

}  // namespace fairway
