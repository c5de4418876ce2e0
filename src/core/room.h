// The contract of a room: what is asked of a store and what it answers. Both stores obey it (docs/architecture.md, "The rules
// of a room"); the memory store runs the rules in core/room_state, the Valkey store runs them as one Lua script.
//
// All times are µs. `now` is the store's clock; numbers and epochs are times of that clock, so later ones are larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/pacing.h"
#include "core/sid.h"

namespace fairway::room {

enum class Mode : std::uint8_t { normal, hold, open, closed };

struct Settings {
  std::uint32_t capacity = 0;
  std::uint32_t rate = 0;  // admissions at most in any rate_window; 0 with rate_window 0: no limit
  Micros rate_window = 0;  // 1 s or 60 s; 0: no limit
  Micros session_timeout = 600'000'000;
  Micros session_max = 0;  // 0: off
  Micros grant_timeout = 30'000'000;
  Micros abandon_timeout = 60'000'000;
  Micros return_grace = 600'000'000;
  std::uint32_t max_waiting = 100'000;
  Micros poll_min = 3'000'000;
  Micros poll_max = 30'000'000;
  Mode mode = Mode::normal;
};

// What the gateway remembers of a room, told with each call so that a store that knows less notices it.
struct Memory {
  std::uint64_t epoch = 0;  // 0: remembers nothing
  std::uint64_t version = 0;
  std::uint64_t last_number = 0;
  std::uint32_t inside = 0;
  std::uint32_t waiting = 0;
  bool outage_ended = false;  // an outage without known loss just ended: nobody is dropped for not having been seen
};

enum class Kind : std::uint8_t {
  enter,      // a page or client request without a fresh pass: joins, moves up, or comes in
  poll,       // a status check: never makes a newcomer
  heartbeat,  // a valid pass older than `refresh`
  release,    // leave, or the application ended the session: frees place or slot, marks ended
  evict,      // the operator ends one session if it is inside (with its place in line too: release)
};

struct Operation {
  Kind kind = Kind::enter;
  Sid sid;
  std::uint64_t epoch = 0;  // the claim of the token shown; 0 with number 0: no claim
  std::uint64_t number = 0;
  Micros admitted = 0;  // heartbeat: when the pass says it was admitted (store time); 0: unknown
  Network network;
  Micros gap = 0;  // time since the ticket shown was issued: this caller's own last gap

  bool has_claim() const noexcept { return epoch != 0 && number != 0; }
};

enum class State : std::uint8_t {
  admitted,   // inside: number, epoch, expires, admitted_at are set
  waiting,    // in line: number, epoch, rank, interval are set
  full,       // line full: busy
  closed,     // mode closed, newcomer or waiter
  gone,       // ended, or lost too long ago: start a new session
  unknown,    // poll of a session that is neither inside nor in line and has no claim that counts
  released,   // answer to release, and to evict when the session was inside
  no_memory,  // the store has no room for this one: busy; nothing was changed by this operation
};

struct Answer {
  State state = State::unknown;
  bool created = false;    // this call drew a new number for the session (a newcomer)
  bool came_in = false;    // of admitted: it is the first to say so since the session was let in or called
  std::uint64_t rank = 0;  // 1-based; 0: not told (recovery)
  Micros interval = 0;     // poll interval before jitter
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;
  Micros expires = 0;      // when the slot ends if nothing more is heard (store time)
  Micros admitted_at = 0;  // store time
};

// The part of an answer that is the same for all operations of a call.
struct Summary {
  Micros now = 0;  // the store's steady clock
  std::uint64_t epoch = 0;
  std::uint64_t version = 0;
  std::uint64_t last_number = 0;
  std::uint32_t inside = 0;    // includes granted
  std::uint32_t granted = 0;   // promoted, not yet claimed
  std::uint32_t reserved = 0;  // places kept after a loss for those who were inside and are not back yet; not in `inside`
  std::uint32_t waiting = 0;
  std::uint64_t admitted_total = 0;   // grants and direct entries, ever
  std::uint64_t abandoned_total = 0;  // dropped from the line or passed over, ever
  bool recovering = false;            // nobody is promoted, ranks are not told
  bool more_work = false;             // bounded work was left: call again at once
};

// The operator ends many at once: sessions of one network or all, inside (and in line, and tickets of earlier waiters, with `line`).
struct Cut {
  Network network;  // size 0: everybody
  bool line = false;
};

// A cut takes effect on whoever calls at once, and on the others in bounded steps: ask again with its id until it is done.
struct CutStatus {
  std::uint64_t id = 0;     // 0: refused, too many cuts are under way
  std::uint64_t ended = 0;  // sessions and places ended so far
  bool done = false;
};

// What `stats` tells of sessions that were ended, so that every gateway refuses their passes.
struct Ended {
  Sid sid;
  std::uint64_t version = 0;  // of the room when it was ended; unique, in the order of ending
};

// Refuses passes of `cut.network` (all: size 0) admitted at or before `at`, and with `line` tickets with a number up to `number`.
struct CutNotice {
  Cut cut;
  Micros at = 0;
  std::uint64_t number = 0;
  std::uint64_t version = 0;  // of the room when it was made; also its id
};

// Room for the answer of `stats`; the counts say how much was filled in. Ended sessions come oldest first; when `more`, ask again
// with the version of the last one. There are at most 16 cuts, in no order.
struct Changes {
  std::span<Ended> ended;
  std::span<CutNotice> cuts;
  std::size_t ended_count = 0;
  std::size_t cut_count = 0;
  bool more = false;
};

}  // namespace fairway::room
