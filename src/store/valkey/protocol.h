// One call of waiting_room.lua as a command, and its reply as answers.
//
// Keys: fairway:{ROOM}:… all under one hash tag. Arguments, decimal unless said otherwise:
//   settings    capacity rate rate_window session_timeout session_max grant_timeout abandon_timeout return_grace max_waiting
//               poll_min poll_max mode (0 normal, 1 hold, 2 open, 3 closed)
//   memory      epoch version last_number inside waiting outage_ended (0 or 1)
//   changes     wanted (0 or 1) since limit
//   cut         kind ("", new, go) network (raw bytes) line (0 or 1) id
//   operations  how many; of each: kind (e, p, h, r, v: evict) sid (16 raw bytes) epoch number admitted network (raw) gap
// Reply, one flat array: the summary; for each operation, in their order, state, flags (1 created, 2 came in), rank, interval, epoch,
// number, expires, admitted at; if changes are wanted how many sessions ended, whether there are more, for each sid and version, how many
// cuts, for each network, line, at, number, version; if a cut was asked for its id, how many it ended, whether it is done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/room.h"
#include "store/valkey/resp.h"

namespace fairway::valkey {

// The script's text and its SHA-1 in 40 hex digits, as EVALSHA wants it.
std::string_view script_text() noexcept;
std::string_view script_sha1() noexcept;
std::array<char, 40> sha1_hex(std::string_view text);

// Most operations of one call, so that no call keeps the store busy for long (a few µs each).
inline constexpr std::size_t kMaxOperations = 256;

// Numbers beyond this are not exact in the store's script; the encoder writes them as this.
inline constexpr std::uint64_t kMaxExact = (std::uint64_t{1} << 53) - 1;

// Most ended sessions told by one call; there are more calls.
inline constexpr std::size_t kMaxEnded = 1000;

struct Request {
  std::string_view room;  // [a-z0-9-]{1,32}
  room::Settings settings;
  room::Memory memory;
  std::span<const room::Operation> operations;  // at most kMaxOperations
  std::optional<std::uint64_t> changes_since;   // tell what was ended or cut after this version
  std::optional<room::Cut> cut;                 // make a cut
  std::uint64_t cut_id = 0;                     // or, not 0, go on with this one
};

struct Response {
  room::Summary summary;
  std::vector<room::Answer> answers;  // one for each operation
  std::vector<room::Ended> ended;
  std::vector<room::CutNotice> cuts;
  bool more_changes = false;
  room::CutStatus cut;
};

// Appends EVALSHA, or with `whole_script` EVAL, to `out`.
void append_call(std::string& out, const Request& request, bool whole_script);

// Reads the reply to `request`. False, with `response` in no certain state, when it is anything but such a reply.
bool read_reply(const Value& reply, const Request& request, Response& response);

}  // namespace fairway::valkey
