// 32 bytes as 43 base64 characters without padding: the size of every secret and every signature here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fairway {

using Bytes32 = std::array<std::uint8_t, 32>;
inline constexpr std::size_t kBase64Size32 = 43;

enum class Base64 : std::uint8_t { standard, url };  // RFC 4648, sections 4 and 5

void base64_encode(const Bytes32& bytes, Base64 alphabet, std::span<char, kBase64Size32> out) noexcept;
// Accepts the one spelling that base64_encode gives: 43 characters of the alphabet, the unused bits zero.
// On false `bytes` holds nothing of use.
bool base64_decode(std::string_view text, Base64 alphabet, Bytes32& bytes) noexcept;

}  // namespace fairway
