// What the gateways of one store share of their operators' changes: everything about rooms. Fair queues are each gateway's own.
//
// Each change of a room gives it a version above all that its gateway knows. Two sets of rooms are merged room by room, the later version
// counts; that is so wherever and in whichever order they meet, so gateways and a store that lost some of it come to the same again. A
// room of which nothing is left to say keeps its version, or an older text would bring it back.
//
// Each gateway has an nginx.conf of its own, and they may differ while a new one is rolled out. An override counts at a gateway until the
// file there changes; what the file said is remembered here, in marks that are never shared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "operate/adjustments.h"

namespace fairway::operate {

using Rooms = std::map<std::string, RoomAdjustment, std::less<>>;

// What a gateway's nginx.conf says of a room; nullopt when it does not have it.
using FileOf = std::function<std::optional<RoomSettings>(std::string_view room)>;

// The rooms alone, without marks.
Adjustments shared_part(const Adjustments& all);

// `ours` with each room of `theirs` that is of a later version. Of two that are of one version and differ `theirs` counts: that is the
// store's. Marks stay with overrides that stay.
Adjustments merge(const Adjustments& ours, const Adjustments& theirs, const FileOf& file);

// Gives `version` to what `after` says otherwise than `before`, and to what it says no more.
void stamp(const Adjustments& before, Adjustments& after, std::uint64_t version);
// A version above all in use; `now`: Unix time in µs, so that a gateway that lost everything does not begin below the others.
std::uint64_t next_version(const Adjustments& all, std::int64_t now) noexcept;

// What became of a room, in a sentence for the events: "capacity 5 → 8, mode normal → hold". Empty: nothing that shows.
std::string difference(const RoomAdjustment& before, const RoomAdjustment& after, const RoomSettings& file);

}  // namespace fairway::operate
