// Which flows a request belongs to, and how requests come to them, leave them and move when a key is proven.
//
// A key is unproven until it comes again after a request that completed. All unproven networks are flows inside the root bucket; all
// unproven keys of a network share its key bucket. When a network or a key is proven, everything it has waiting or running moves to
// its own flow, so that it never draws from two.
//
// The root bucket weighs min(8, √networks), so that a crowd of newcomers gets more than one share and a swarm of invented ones not all
// of them. When a newcomer has waited for half the timeout, it weighs as much as its networks would if they were proven, up to half
// of what the proven ones weigh together: without that, new visitors of a site that is a little overloaded by regular ones are
// refused for minutes. The key bucket weighs min(2, √keys).
#pragma once

#include "core/queue_state.h"

namespace fairway::queue {

// Who sends a request: its records, as far as they exist, and its flows, as far as they can be told before a record is made.
struct Client {
  std::uint32_t network = kNone;
  std::uint32_t session = kNone;
  std::uint32_t outer = kNone;
  std::uint32_t inner = kNone;
};

// Finds the records of `keys` and proves what has come back.
Client identify(Tables& t, const FlowKeys& keys) noexcept;
// Makes the records that identify() did not find, and holds all of them for one request.
void enroll(Tables& t, const FlowKeys& keys, Client& client) noexcept;

// Puts a request, whose network and session are set and held, into its flows by its state: waiting by order of arrival, or running.
// A flow that has nothing waiting starts anew by its clock first.
void join(Tables& t, std::uint32_t request) noexcept;
// Takes it out again, charging nothing.
void leave(Tables& t, std::uint32_t request) noexcept;
// A waiting request becomes a running one (state granted) of the same flows.
void promote(Tables& t, std::uint32_t request) noexcept;
// Gives the root bucket the weight it is due now.
void weigh_root_bucket(Tables& t) noexcept;
// Charges both flows of a request, which it may just have left.
void charge(Tables& t, const Request& request, Nanos cost) noexcept;

}  // namespace fairway::queue
