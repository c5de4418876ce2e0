// Epochs, recovery, and what falls due by itself.
#include <algorithm>
#include <limits>

#include "core/room_state.h"

namespace fairway::room {

void RoomState::recover_if_due(const Step& step) noexcept {
  if (epoch_ == 0 || behind(step)) open_epoch(step);
  const bool told = step.memory.epoch != 0 && step.memory.epoch < epoch_;
  bool shown = false;
  for (const Operation& operation : step.operations) {
    if (!operation.has_claim()) continue;
    shown = shown || operation.epoch < epoch_;
    last_number_ = std::max(last_number_, operation.number);
  }
  if ((told || shown) && !had_recovery_) {
    had_recovery_ = true;
    recovery_until_ = step.now + recovery_window(step.settings);
    reserve_until_ = step.now + step.settings.session_timeout;
  }
  if (told) remember(step);
}

// Whether the state lost writes that its caller, or the tokens shown, know of.
bool RoomState::behind(const Step& step) const noexcept {
  const Memory& memory = step.memory;
  if (memory.epoch > epoch_) return true;
  if (memory.epoch == epoch_ && (memory.version >= version_ || memory.last_number > last_number_)) return true;
  return std::any_of(step.operations.begin(), step.operations.end(), [this](const Operation& operation) {
    return operation.has_claim() && (operation.epoch > epoch_ || (operation.epoch == epoch_ && operation.number > last_number_));
  });
}

void RoomState::open_epoch(const Step& step) noexcept {
  std::uint64_t known = std::max({epoch_, last_number_, step.memory.epoch, step.memory.last_number});
  for (const Operation& operation : step.operations) known = std::max({known, operation.epoch, operation.number});
  epoch_ = std::max(static_cast<std::uint64_t>(std::max<Micros>(step.now, 0)), known + 1);
  last_number_ = epoch_;
  version_ = std::max(version_, step.memory.version + 1);
  had_recovery_ = false;
  recovery_until_ = 0;
  somebody_waited_ = false;
  remembered_ = 0;
  back_ = inside_;
  reserve_until_ = 0;
}

// What a caller knows of an earlier epoch: how many were inside, and whether a newcomer would overtake somebody.
void RoomState::remember(const Step& step) noexcept {
  remembered_ = std::max(remembered_, step.memory.inside);
  somebody_waited_ = somebody_waited_ || step.memory.waiting > 0;
}

void RoomState::sweep(Step& step) noexcept {
  follow_settings(step);
  if (step.now < idle_until_) return;
  sweep_marks(step);
  if (!holding_on(step.now)) {
    std::uint32_t budget = kWorkPerStep;
    sweep_slots(step, budget);
    if (step.settings.mode != Mode::closed) sweep_line(step, budget);
  }
  idle_until_ = next_deadline();
}

void RoomState::sweep_slots(Step& step, std::uint32_t& budget) noexcept {
  auto& times = table_.get<ByTimeTag>();
  const Micros longest = step.settings.session_max;
  while (true) {
    const auto it = times.lower_bound(PlaceAt{Place::inside, 0});
    if (it == times.end() || it->place != Place::inside || it->when > step.now) return;
    if (budget == 0) break;
    --budget;
    const bool over = longest > 0 && it->stamp + longest <= step.now;
    over ? end(table_.project<0>(it)) : lose(table_.project<0>(it), step.now);
  }
  step.more_work = true;
}

// Drops the abandoned, and files those anew that asked in the meantime.
void RoomState::sweep_line(Step& step, std::uint32_t& budget) noexcept {
  auto& times = table_.get<ByTimeTag>();
  while (true) {
    const auto it = times.begin();
    if (it == times.end() || it->place != Place::waiting || it->when + abandon_timeout_ > step.now) return;
    if (budget == 0) break;
    --budget;
    if (it->stamp + abandon_timeout_ > step.now) {
      put(table_.project<0>(it), Place::waiting, it->number, it->stamp, it->stamp);
    } else {
      lose(table_.project<0>(it), step.now);
      ++abandoned_total_;
    }
  }
  step.more_work = true;
}

void RoomState::sweep_marks(const Step& step) noexcept {
  auto& times = table_.get<ByTimeTag>();
  for (const Place place : {Place::lost, Place::ended}) {
    for (std::uint32_t budget = kWorkPerStep; budget > 0; --budget) {
      const auto it = times.lower_bound(PlaceAt{place, 0});
      if (it == times.end() || it->place != place || deadline(*it) > step.now) break;
      times.erase(it);
    }
  }
}

void RoomState::follow_settings(const Step& step) noexcept {
  if (abandon_timeout_ != step.settings.abandon_timeout) idle_until_ = 0;
  abandon_timeout_ = step.settings.abandon_timeout;
  horizon_ = std::max(horizon_, step.now + token_life(step.settings));
}

Micros RoomState::next_deadline() const noexcept {
  Micros next = std::numeric_limits<Micros>::max();
  const auto& times = table_.get<ByTimeTag>();
  for (const Place place : {Place::waiting, Place::inside, Place::lost, Place::ended}) {
    const auto it = times.lower_bound(PlaceAt{place, 0});
    if (it != times.end() && it->place == place) next = std::min(next, deadline(*it));
  }
  return next;
}

}  // namespace fairway::room
