// Where a visitor goes after the cookie check: the `to` of /__fairway/ROOM/check, from the request URI to the query and back to
// Location. A URI made of URL characters comes out byte for byte as it went in, escapes and all: "%" is an ordinary character of it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace fairway {

inline constexpr std::size_t kMaxTarget = 2048;  // bytes, decoded

// Writes `uri` so that it can stand as the value of a query argument: all but letters, digits and - . _ ~ / percent-encoded.
// `out` has at least three times its size. Returns the size written.
std::size_t encode_argument(std::string_view uri, std::span<char> out) noexcept;

// The target that the argument names: percent-decoded once (a `%` without two hex digits stands for itself; `+` is no blank).
// "/" unless it is a path on this host: starts with `/`, second byte neither `/` nor `\`, no byte <= 0x20, 0x7f or `\`, at most
// kMaxTarget bytes. The result lies in `out` or is static.
std::string_view decode_target(std::string_view argument, std::span<char, kMaxTarget> out) noexcept;

// Writes `target` for a Location header: every byte that no URL may contain (RFC 3986) percent-encoded, everything else as it is.
// `out` has at least three times its size. Returns the size written.
std::size_t encode_location(std::string_view target, std::span<char> out) noexcept;

}  // namespace fairway
