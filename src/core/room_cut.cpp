// Cuts: many sessions ended at once, in bounded steps; and what gateways are told of ended sessions.
#include <algorithm>

#include "core/room_state.h"

namespace fairway::room {

namespace {

bool covers(const Cut& cut, const Network& network) noexcept {
  return cut.network.size == 0 || cut.network == network;
}

}  // namespace

bool RoomState::cut_hits(const Record& record) const noexcept {
  if (cuts_kept_ == 0) return false;
  return std::any_of(cuts_.begin(), cuts_.end(), [&record](const ActiveCut& active) {
    const CutNotice& notice = active.notice;
    if (notice.version == 0 || !covers(notice.cut, record.network)) return false;
    if (record.place == Place::inside) return record.stamp <= notice.at;
    return record.place == Place::waiting && notice.cut.line && record.number <= notice.number;
  });
}

bool RoomState::cut_hits_pass(const Operation& operation) const noexcept {
  if (cuts_kept_ == 0) return false;
  return std::any_of(cuts_.begin(), cuts_.end(), [&operation](const ActiveCut& active) {
    return active.notice.version != 0 && covers(active.notice.cut, operation.network) && operation.admitted <= active.notice.at;
  });
}

bool RoomState::cut_hits_claim(const Operation& operation) const noexcept {
  if (cuts_kept_ == 0) return false;
  return std::any_of(cuts_.begin(), cuts_.end(), [&operation](const ActiveCut& active) {
    return active.notice.version != 0 && active.notice.cut.line && covers(active.notice.cut, operation.network) &&
           operation.number <= active.notice.number;
  });
}

RoomState::ActiveCut* RoomState::free_cut() noexcept {
  ActiveCut* oldest = nullptr;
  for (ActiveCut& active : cuts_) {
    if (active.notice.version == 0) return &active;
    if (active.done && (oldest == nullptr || active.notice.version < oldest->notice.version)) oldest = &active;
  }
  return oldest;
}

CutStatus RoomState::cut(Micros wall, const Settings& settings, const Memory& memory, const Cut& cut, Summary& summary) noexcept {
  Step step = begin(wall, settings, memory, {});
  std::uint64_t id = 0;
  if (ActiveCut* active = free_cut(); active != nullptr) {
    id = ++version_;
    cuts_kept_ += active->notice.version == 0;
    *active = ActiveCut{};
    active->notice = CutNotice{cut, step.now, last_number_, id};
    active->until = horizon_;
    if (cut.network.size == 0) reserve_until_ = 0;  // those it is kept for cannot come back
    step.now = ++clock_;                            // whoever is admitted from here on is later than the cut, also within its microsecond
    ++offset_;
    sweep_cuts(step);
  }
  promote(step);
  summary = finish(step);
  return status_of(id);
}

CutStatus RoomState::go_on(Micros wall, const Settings& settings, const Memory& memory, std::uint64_t id, Summary& summary) noexcept {
  summary = call(wall, settings, memory, {}, {});
  return status_of(id);
}

CutStatus RoomState::status_of(std::uint64_t id) const noexcept {
  for (const ActiveCut& active : cuts_) {
    if (id != 0 && active.notice.version == id) return CutStatus{id, active.ended, active.done};
  }
  return CutStatus{};
}

void RoomState::sweep_cuts(Step& step) noexcept {
  if (cuts_kept_ == 0) return;
  std::uint32_t budget = kWorkPerStep;
  for (ActiveCut& active : cuts_) {
    if (active.notice.version == 0) continue;
    if (active.done && active.until <= step.now) {
      active = ActiveCut{};
      --cuts_kept_;
    } else if (!active.done) {
      sweep_cut(active, budget);
      step.more_work = step.more_work || !active.done;
    }
  }
}

// Walks line and room in the order of the index, which only place and number decide: whoever moves meanwhile is looked at then.
void RoomState::sweep_cut(ActiveCut& active, std::uint32_t& budget) noexcept {
  auto& line = table_.get<ByNumberTag>();
  Record from;
  from.place = active.place;
  from.number = active.number;
  from.sid = active.sid;
  for (auto it = line.upper_bound(from, ByNumber{}); budget > 0; --budget) {
    if (it == line.end() || it->place > Place::inside) {
      active.done = true;
      return;
    }
    active.place = it->place;
    active.number = it->number;
    active.sid = it->sid;
    const auto here = it++;
    if (cut_hits(*here)) {
      end(table_.project<0>(here));
      ++active.ended;
    }
  }
}

Summary RoomState::stats(Micros wall, const Settings& settings, const Memory& memory, std::uint64_t since, Changes& changes) noexcept {
  const Summary summary = call(wall, settings, memory, {}, {});
  const auto& times = table_.get<ByTimeTag>();
  changes.ended_count = changes.cut_count = 0;
  auto it = times.lower_bound(PlaceAt{Place::ended, static_cast<std::int64_t>(since + 1)});
  for (; it != times.end() && changes.ended_count < changes.ended.size(); ++it) {
    changes.ended[changes.ended_count++] = Ended{it->sid, static_cast<std::uint64_t>(it->when)};
  }
  changes.more = it != times.end();
  for (const ActiveCut& active : cuts_) {
    if (active.notice.version > since && changes.cut_count < changes.cuts.size()) changes.cuts[changes.cut_count++] = active.notice;
  }
  return summary;
}

}  // namespace fairway::room
