// What happens when nobody more may wait: who makes room, and when the refused may come again.
#pragma once

#include "core/queue_members.h"
#include "core/queue_state.h"

namespace fairway::queue {

// The waiting request that makes room for an arrival of `client`: the newest of the longest inner flow of the longest outer flow,
// where longest is most waiting requests ÷ weight, the arrival counted. kNone: the arrival is of that very inner flow, or ties with it.
std::uint32_t victim_for(const Tables& t, const Client& client) noexcept;

// Seconds for Retry-After, 1 to 45, for a refused request of the outer flow `outer` (kNone: of a network without record).
//
//   wait = (debt + (waiting + 1) × estimate ÷ weight) × Σ active weights ÷ concurrency, 1 s to 30 s, and up to half more at random
//
// Each refusal books the next free moment of its flow, so that the refused do not all come back at once.
std::uint32_t book_retry(Tables& t, const Client& client, std::uint64_t cost_class) noexcept;

}  // namespace fairway::queue
