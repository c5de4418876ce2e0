#include "core/flow.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

namespace fairway {
namespace {

// Text that grows into a fixed buffer; callers know that it fits.
struct Writer {
  char* at;
  char* end;

  void text(std::string_view value) noexcept { at = std::copy(value.begin(), value.end(), at); }
  void number(unsigned value, int base = 10) noexcept { at = std::to_chars(at, end, value, base).ptr; }
};

unsigned group(const OuterKey& key, std::size_t index) noexcept {
  return static_cast<unsigned>(key.bytes[2 * index] << 8 | key.bytes[2 * index + 1]);
}

// The longest run of at least two zero groups, the first of equal ones (RFC 5952, 4.2): start and length.
struct Zeros {
  std::size_t start = 8;
  std::size_t length = 0;
};

Zeros longest_zeros(const OuterKey& key) noexcept {
  Zeros best;
  for (std::size_t start = 0; start < 8; ++start) {
    std::size_t end = start;
    while (end < 8 && group(key, end) == 0) ++end;
    if (end - start > std::max<std::size_t>(best.length, 1)) best = {start, end - start};
  }
  return best;
}

void print_v6(Writer& out, const OuterKey& key) noexcept {
  const Zeros zeros = longest_zeros(key);
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == zeros.start) {
      out.text("::");
      i += zeros.length - 1;
      continue;
    }
    if (i != 0 && i != zeros.start + zeros.length) out.text(":");
    out.number(group(key, i), 16);
  }
}

void print_v4(Writer& out, const OuterKey& key) noexcept {
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != 0) out.text(".");
    out.number(key.bytes[i]);
  }
}

}  // namespace

ClientAddress ClientAddress::v4(std::span<const std::uint8_t, 4> bytes) noexcept {
  ClientAddress address{AddressFamily::v4, {}};
  std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
  return address;
}

ClientAddress ClientAddress::v6(std::span<const std::uint8_t, 16> bytes) noexcept {
  constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(mapped.begin(), mapped.end(), bytes.begin())) return v4(bytes.last<4>());
  ClientAddress address{AddressFamily::v6, {}};
  std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
  return address;
}

OuterKey outer_key(const ClientAddress& address, unsigned v4_bits, unsigned v6_bits) noexcept {
  OuterKey key{address.family, 0, {}};
  if (address.family == AddressFamily::v4) key.bits = static_cast<std::uint8_t>(std::min(v4_bits, 32U));
  if (address.family == AddressFamily::v6) key.bits = static_cast<std::uint8_t>(std::min(v6_bits, 128U));
  const std::size_t whole = key.bits / 8U;
  std::copy_n(address.bytes.begin(), whole, key.bytes.begin());
  if (key.bits % 8U != 0) key.bytes[whole] = static_cast<std::uint8_t>(address.bytes[whole] & (0xff00U >> key.bits % 8U));
  return key;
}

std::size_t print(const OuterKey& key, std::span<char, kMaxOuterKeyText> out) noexcept {
  Writer writer{out.data(), out.data() + out.size()};
  switch (key.family) {
    case AddressFamily::unknown:
      writer.text("unknown");
      break;
    case AddressFamily::unix_socket:
      writer.text("unix");
      break;
    case AddressFamily::v4:
      print_v4(writer, key);
      break;
    case AddressFamily::v6:
      print_v6(writer, key);
      break;
  }
  if (key.family == AddressFamily::v4 || key.family == AddressFamily::v6) {
    writer.text("/");
    writer.number(key.bits);
  }
  return static_cast<std::size_t>(writer.at - out.data());
}

// The network is part of the key, so that sessions of different networks never share one.
InnerKey::InnerKey(const OuterKey& network) noexcept : size_(sizeof network) {
  std::memcpy(buffer_.data(), &network, sizeof network);
}

void InnerKey::address(const ClientAddress& address) noexcept {
  buffer_[size_++] = static_cast<std::uint8_t>(Kind::address);
  std::memcpy(&buffer_[size_], address.bytes.data(), address.bytes.size());  // the network already says the family
  size_ += address.bytes.size();
}

void InnerKey::add(std::string_view value) noexcept {
  const auto length = static_cast<std::uint32_t>(std::min<std::size_t>(value.size(), std::numeric_limits<std::uint32_t>::max()));
  if (kMaxHashedBytes - size_ < 1 + sizeof length) return;
  buffer_[size_++] = static_cast<std::uint8_t>(Kind::value);
  std::memcpy(&buffer_[size_], &length, sizeof length);
  size_ += sizeof length;
  const std::size_t taken = std::min(value.size(), kMaxHashedBytes - size_);
  if (taken != 0) std::memcpy(&buffer_[size_], value.data(), taken);
  size_ += taken;
}

}  // namespace fairway
