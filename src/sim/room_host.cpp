#include "sim/room_host.h"

#include <array>

namespace fairway::sim {

namespace {

constexpr Micros kStart = 1'000'000'000'000'000;  // what the store's clock says at 0: times of the core are not near 0
constexpr std::size_t kPerRecord = 160;
constexpr std::size_t kRest = 1'048'576;

}  // namespace

RoomHost::RoomHost(std::uint64_t records) {
  const std::size_t size = kRest + records * kPerRecord;
  block_.reset(::operator new (size, std::align_val_t{64}));
  Arena* arena = Arena::create(block_.get(), size);
  state_ = new (arena->take_table(sizeof(room::RoomState))) room::RoomState(*arena);
}

RoomHost::~RoomHost() {
  state_->~RoomState();
}

room::Answer RoomHost::call(const room::Settings& settings, const room::Operation& operation, Micros now) {
  std::array<room::Answer, 1> answers;
  run(settings, now, {&operation, 1}, answers);
  if (summary_.more_work) look(settings, now);
  return answers[0];
}

void RoomHost::look(const room::Settings& settings, Micros now) {
  constexpr int kAtOnce = 100'000;
  int calls = 0;
  do {
    run(settings, now, {}, {});
  } while (summary_.more_work && ++calls < kAtOnce);
}

void RoomHost::run(const room::Settings& settings, Micros now, std::span<const room::Operation> operations,
                   std::span<room::Answer> answers) {
  summary_ = state_->call(kStart + now, settings, memory_, operations, answers);
  memory_ = {summary_.epoch, summary_.version, summary_.last_number, summary_.inside, summary_.waiting, false};
  rate_.sample(summary_.now, summary_.admitted_total, summary_.abandoned_total, summary_.waiting);
  ++calls_;
}

std::optional<std::uint32_t> RoomHost::wait(const room::Settings& settings, std::uint64_t rank) const {
  const bool on_hold = summary_.recovering || settings.mode == room::Mode::hold || settings.capacity == 0;
  if (on_hold || rank == 0) return std::nullopt;
  const double limit = settings.rate_window == 0 ? 0 : settings.rate * 1e6 / static_cast<double>(settings.rate_window);
  return rate_.wait(rank, limit);
}

bool RoomHost::holds_grant(const Sid& sid) const {
  const auto found = state_->table().find(sid);
  return found != state_->table().end() && found->place == room::Place::inside && !found->claimed;
}

}  // namespace fairway::sim
