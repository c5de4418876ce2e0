// One call of waiting_room.lua as a command, and its reply as answers.
//
// Keys: fairway:{ROOM}:… (kKeyNames), all under one hash tag. Arguments, decimal unless said otherwise: the settings, the memory,
// the number of operations, then for each operation kind (e, p, h, r), sid (16 raw bytes), epoch, number, admitted, network (0, 3
// or 6 raw bytes), gap. Reply: one flat array of integers, the summary and then eight for each operation, in their order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/room.h"
#include "store/valkey/resp.h"

namespace fairway::valkey {

// The script's text and its SHA-1 in 40 hex digits, as EVALSHA wants it.
std::string_view script_text() noexcept;
std::string_view script_sha1() noexcept;

// Most operations of one call, so that no call keeps the store busy for long (a few µs each).
inline constexpr std::size_t kMaxOperations = 256;

// Numbers beyond this are not exact in the store's script; the encoder writes them as this.
inline constexpr std::uint64_t kMaxExact = (std::uint64_t{1} << 53) - 1;

// Appends EVALSHA, or with `whole_script` EVAL, to `out`. `room` is [a-z0-9-]{1,32}; at most kMaxOperations operations.
void append_call(std::string& out, std::string_view room, const room::Settings& settings, const room::Memory& memory,
                 std::span<const room::Operation> operations, bool whole_script);

// Reads the reply of a call with as many operations as `answers` has. False, with `summary` and `answers` in no certain state,
// when it is anything but such a reply.
bool read_reply(const Value& reply, room::Summary& summary, std::span<room::Answer> answers) noexcept;

}  // namespace fairway::valkey
