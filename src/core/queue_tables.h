// The records of networks and sessions: found by key, made on the first admitted request, dropped when the table is full.
//
// A record with requests waiting or running is never dropped. Dropped first are networks (sessions) that never came back, oldest
// first; then proven ones without debt, oldest first; then the oldest debtor, whose debt goes to a shared record. When every record
// is busy, a network shares one of 64 overflow records (by a hash that changes each hour), where no session has a record, and a
// session does without.
// Proof is kept for an hour after the last request.
#pragma once

#include "core/queue_state.h"

namespace fairway::queue {

inline constexpr Nanos kProofTtl = 3600 * kSecond;

bool is_overflow(const Tables& t, std::uint32_t network) noexcept;

// Asks for the memory that a request of these keys will touch, all at once: with full tables each piece is a miss of its own otherwise.
void prefetch(const Tables& t, const FlowKeys& keys) noexcept;

// The record, or kNone. A session belongs to its network: one of equal digest in another network is not found, one whose network was
// dropped is.
std::uint32_t peek_network(const Tables& t, const FlowKeys& keys) noexcept;
std::uint32_t peek_session(const Tables& t, std::uint64_t digest, std::uint32_t network) noexcept;
// The same; proof that has run out is taken back.
std::uint32_t find_network(Tables& t, const FlowKeys& keys) noexcept;
std::uint32_t find_session(Tables& t, std::uint64_t digest, std::uint32_t network) noexcept;

// Whether the network that a session belonged to last still has its record.
bool is_bound(const Tables& t, const Session& session) noexcept;

// A new record, unproven under probation; may push out another one.
std::uint32_t add_network(Tables& t, const FlowKeys& keys) noexcept;                         // an overflow record when all are busy
std::uint32_t add_session(Tables& t, std::uint64_t digest, std::uint32_t network) noexcept;  // kNone when all are busy

// Ties a session to the record that its network has now; its flow starts at the clock if that is another one than before.
void bind_session(Tables& t, std::uint32_t session, std::uint32_t network) noexcept;

// Marks a record as proven or not.
void set_network_proven(Tables& t, std::uint32_t network, bool proven) noexcept;
void set_session_proven(Tables& t, std::uint32_t session, bool proven) noexcept;

// One more, one less reason to keep a record; kNone is allowed. Records of which nothing is known are dropped with the last reason
// when `blank` is given: refused requests leave no trace.
void hold(Tables& t, std::uint32_t network, std::uint32_t session) noexcept;
void let_go(Tables& t, std::uint32_t network, std::uint32_t session, bool blank = false) noexcept;

}  // namespace fairway::queue
