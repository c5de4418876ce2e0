// The life of a request: waits, gets a slot, gives it back; and who gets the next one.
#pragma once

#include "core/queue_members.h"
#include "core/queue_state.h"

namespace fairway::queue {

// A new request of `client` (enrolled) in no list yet; kNone when there is no record left.
std::uint32_t new_request(Tables& t, const Arrival& arrival, const Client& client) noexcept;
Handle handle_of(const Tables& t, std::uint32_t request) noexcept;
std::uint32_t find_request(const Tables& t, Handle handle) noexcept;  // kNone when it has ended

// Whether a slot is free at all, and open to a request that would be the first to get it.
bool slot_free(const Tables& t) noexcept;

void begin_waiting(Tables& t, std::uint32_t request) noexcept;
void begin_running(Tables& t, std::uint32_t request, Nanos started) noexcept;

// Ends a waiting request without a slot, charging `cost`. The record stays until forget().
void stop_waiting(Tables& t, std::uint32_t request, Nanos cost) noexcept;
// Ends a running (or granted) one: settles its cost, corrects the clocks; `learn`: remembers cost and time as typical of its key.
void stop_running(Tables& t, std::uint32_t request, Nanos cost, bool learn) noexcept;
// Gives up the records of an ended request's keys; `blank`: drops them if nothing is known of them.
void let_keys_go(Tables& t, std::uint32_t request, bool blank) noexcept;
// Frees the record of an ended request.
void forget(Tables& t, std::uint32_t request) noexcept;

// Gives free slots to waiting requests as long as one may have one; their workers get mail.
void dispatch(Tables& t) noexcept;

void send_mail(Tables& t, std::uint32_t request) noexcept;
void withdraw_mail(Tables& t, std::uint32_t request) noexcept;

}  // namespace fairway::queue
