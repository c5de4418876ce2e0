// Epochs, recovery, and what falls due by itself.
#include <algorithm>

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
  renew_life(step);
  sweep_marks(step);
  if (holding_on(step.now)) return;
  auto& times = table_.get<ByTimeTag>();
  const Settings& settings = step.settings;
  std::uint32_t budget = kWorkPerStep;
  for (auto it = times.lower_bound(PlaceAt{Place::inside, 0}); it != times.end() && it->place == Place::inside && it->when <= step.now;
       it = times.lower_bound(PlaceAt{Place::inside, 0})) {
    if (budget-- == 0) {
      step.more_work = true;
      return;
    }
    const bool over = settings.session_max > 0 && it->admitted + settings.session_max <= step.now;
    over ? end(table_.project<0>(it), step.now) : lose(table_.project<0>(it), step.now);
  }
  if (settings.mode == Mode::closed) return;
  for (auto it = times.begin(); it != times.end() && it->place == Place::waiting && it->when + settings.abandon_timeout <= step.now;
       it = times.begin()) {
    if (budget-- == 0) {
      step.more_work = true;
      return;
    }
    lose(table_.project<0>(it), step.now);
    ++abandoned_total_;
  }
}

// Shorter settings shorten the life of marks only when the tokens of the longer ones have died out.
void RoomState::renew_life(const Step& step) noexcept {
  const Micros life = mark_life(step.settings);
  if (life < life_ && step.now - life_seen_ <= life_) return;
  life_ = life;
  life_seen_ = step.now;
}

void RoomState::sweep_marks(const Step& step) noexcept {
  auto& times = table_.get<ByTimeTag>();
  for (const Place place : {Place::lost, Place::ended}) {
    for (std::uint32_t budget = kWorkPerStep; budget > 0; --budget) {
      const auto it = times.lower_bound(PlaceAt{place, 0});
      if (it == times.end() || it->place != place) break;
      const Micros since = place == Place::lost ? it->when : it->admitted;
      if (since + life_ > step.now) break;
      times.erase(it);
    }
  }
}

}  // namespace fairway::room
