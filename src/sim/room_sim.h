// Plays a crowd against a waiting room on a virtual clock: the very rules that the stores run (core/room_state), one gateway in front
// of them, and visitors who come, wait, ask again when they are told to, give up, come in, stay and go. Deterministic for a seed.
// Memory is that of who is inside, in line or still remembered by the room, whatever the number of visitors.
//
// Times in µs of the virtual clock; 0 is when the first visitor may come. Nothing here reads a clock, sleeps or does I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/room.h"
#include "sim/crowd.h"
#include "sim/histogram.h"
#include "sim/series.h"

namespace fairway::sim {

// Programs that ask as often as they can, each from one address with several sessions.
struct Bots {
  std::uint32_t count = 0;
  std::uint32_t sessions = 20;  // of each at once
  std::uint32_t polls = 10;     // of each session, per second
};

// From `at` on these settings hold.
struct Change {
  Micros at = 0;
  room::Settings settings;
};

struct RoomPlan {
  room::Settings settings;
  Micros refresh = 15'000'000;
  std::uint32_t entries_per_minute = 60;  // of one address; 0: no limit
  std::uint32_t polls_per_second = 3;     // of one session
  std::vector<Change> changes;            // by time

  std::uint64_t visitors = 10'000;  // at most 10,000,000
  Micros over = 3'600'000'000;      // they come within this time
  Arrivals arrivals = Arrivals::poisson;
  Duration stay{Shape::exponential, 300'000'000};      // inside
  Duration patience{Shape::exponential, 600'000'000};  // of those who give up if they are not in by then
  double silent = 0;                                   // share of visitors who then close the page without a word
  double polite = 0;                                   // share who then leave by the page's button
  double hidden = 0;                                   // share whose page is a tab in the background: its timers run once a minute
  double sign_out = 0;                                 // share of those inside who end their session; the others' runs out
  Micros click = 30'000'000;                           // mean time between the requests of one inside
  Bots bots;
  Micros longest = 0;  // the run ends then, at the latest; 0: a day after the last visitor came
  std::uint64_t seed = 1;
};

// What became of the visitors; each is in exactly one.
struct Outcomes {
  std::uint64_t stayed = 0;         // came in, and left when they wanted
  std::uint64_t cut_short = 0;      // came in, and had to begin anew: session_max, or away for too long
  std::uint64_t left_silently = 0;  // the line
  std::uint64_t left_politely = 0;  // the line
  std::uint64_t turned_away = 0;    // gave up before they got a place: the line was full, or the room closed
  std::uint64_t still_inside = 0;   // when the run ended
  std::uint64_t still_waiting = 0;
  std::uint64_t still_outside = 0;  // turned away so far

  std::uint64_t sum() const noexcept {
    return stayed + cut_short + left_silently + left_politely + turned_away + still_inside + still_waiting + still_outside;
  }
};

// How far the waits that the page showed were from what they then were, as shares of these: one of each visitor, chosen at random
// from all that were shown at least two minutes after the line formed or the settings changed and ten seconds before the visitor came in.
struct EstimateErrors {
  std::uint64_t untold = 0;           // "not known yet"
  std::vector<std::uint32_t> counts;  // by percent, the last for all above
  std::uint64_t count = 0;

  // Share that `quantile` of the shown do not exceed; those untold count as infinite.
  double error(double quantile) const;
};

struct RoomReport {
  Outcomes outcomes;
  std::uint64_t arrived = 0;
  std::uint64_t direct = 0;                   // came in without waiting
  std::uint64_t busy = 0;                     // busy answers to visitors: the line was full
  std::uint64_t sent_back = 0;                // inside, asked for nothing for session_timeout, and found themselves in line again
  Histogram waits;                            // of those who came in: from their first request until they were in, µs
  Series waiting, inside, admissions, calls;  // per second
  std::uint32_t most_inside = 0;              // at any moment
  std::uint32_t most_waiting = 0;

  std::uint64_t called = 0;       // out of the line: grants, and those let in by their own question
  std::uint64_t wasted = 0;       // of these, how many went to one who did not come
  std::uint64_t passed_over = 0;  // turns that one lost who was there, all the same: dropped, passed over or called in vain
  std::uint64_t lost_places = 0;  // visitors in line who were told to begin anew
  EstimateErrors estimates;

  std::uint64_t store_calls = 0;
  std::uint64_t bot_sessions = 0;
  std::uint64_t bot_entries_refused = 0;
  std::uint64_t bot_polls_refused = 0;
  std::uint64_t bots_sent_back = 0;  // as sent_back
  std::uint64_t bots_let_in = 0;

  Micros length = 0;            // of the run
  std::uint64_t no_memory = 0;  // operations that the simulated store had no room for
};

struct RoomProgress {
  Micros now = 0;
  std::uint64_t arrived = 0;
  std::uint64_t done = 0;  // visitors whose outcome is known
};

// `progress` is called once for each simulated second.
RoomReport simulate_room(const RoomPlan& plan, const std::function<void(const RoomProgress&)>& progress = {});

}  // namespace fairway::sim
