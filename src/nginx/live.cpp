#include "nginx/live.h"

#include <algorithm>

#include "nginx/queue_worker.h"
#include "nginx/room_block.h"
#include "operate/fit.h"

namespace fairway::ngx {

namespace {

std::span<RoomConf*> rooms_of(const MainConf& conf) noexcept {
  return {static_cast<RoomConf**>(conf.rooms.elts), conf.rooms.nelts};
}

std::span<QueueConf*> queues_of(const MainConf& conf) noexcept {
  return {static_cast<QueueConf**>(conf.queues.elts), conf.queues.nelts};
}

}  // namespace

Live::Live(MainConf& conf, ngx_cycle_t* cycle) : conf_(conf), cycle_(cycle) {
  std::vector<std::string_view> names;
  for (RoomConf* room : rooms_of(conf)) {
    rooms_of_file_.push_back(*room);
    names.push_back(view(room->name));
    by_index_.push_back(room);
  }
  const std::vector<RoomRow*> rows = claim_rows(conf.zone, names);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    by_index_[i]->row = rows[i];
  }
  for (const QueueConf* queue : queues_of(conf)) {
    queues_of_file_.push_back(*queue);
  }
  rooms_ = by_index_;
}

Board& Live::board() const noexcept {
  return *shared_of(conf_.zone)->board;
}

void Live::follow() noexcept {
  if (board().version.load(std::memory_order_acquire) == version_) {
    return;
  }
  try {
    take_over();
  } catch (...) {
    ngx_log_error(NGX_LOG_ERR, cycle_->log, 0, "fairway: no memory to take over changed settings");  // again at the next request
  }
}

void Live::take_over() {
  std::string text;
  std::uint64_t version = 0;
  {
    const Lock lock(conf_.zone);
    version = board().version.load(std::memory_order_relaxed);
    text = board().text();
  }
  std::string why;
  auto adjustments = operate::Adjustments::parse(text, why);
  if (!adjustments) {
    ngx_log_error(NGX_LOG_ERR, cycle_->log, 0, "fairway: the changed settings were not understood: %s", why.c_str());
    version_ = version;
    return;
  }
  previous_ = std::exchange(adjustments_, std::move(*adjustments));  // rooms may refer to its texts until they are adjusted
  adjust_rooms();
  adjust_queues(version);
  version_ = version;
}

void Live::adjust_rooms() {
  attach_ = {};
  refused_.clear();
  previous_fitting_ = std::exchange(fitting_, {});  // as previous_
  rooms_.assign(rooms_of(conf_).begin(), rooms_of(conf_).end());
  for (const auto& [name, adjustment] : adjustments_.rooms) {
    if (!adjustment.made || find(name) != nullptr) {
      continue;
    }
    if (rooms_.size() < Shared::kRooms) {
      rooms_.push_back(&made(name));
    } else {
      refused_.emplace(name, "it cannot be made here, where there are " + std::to_string(Shared::kRooms) + " rooms already");
    }
  }
  for (RoomConf* room : rooms_) {
    adjust(*room);
  }
  for (const auto& [name, room] : made_) {
    if (find(name) == nullptr) {  // requests may still have it when the texts are gone
      room->message = {};
      room->cookie_domain = {};
    }
  }
}

// What was published had been checked; but with a shared store maybe against another nginx.conf.
void Live::adjust(RoomConf& room) {
  const operate::RoomAdjustment& changed = adjustment(room);
  auto settings = file(room);
  const auto check = [](const operate::RoomSettings& all) { return operate::check_together(all); };
  for (const operate::Problem& unfit : operate::unfit(operate::room_fields(), settings, changed.fields, check)) {
    fitting_.try_emplace(std::string(view(room.name)), changed.fields).first->second.erase(unfit.field);
    std::string& why = refused_[std::string(view(room.name))];
    why += (why.empty() ? "of what was changed at another gateway \"" : "; \"") + unfit.field +
           "\" does not fit nginx.conf here, which counts: " + unfit.detail;
  }
  operate::apply(operate::room_fields(), overrides(room), settings);
  settings.settings.mode = changed.mode;
  static_cast<operate::RoomSettings&>(room) = settings;
  for (const operate::Attachment& attachment : changed.attach) {
    attach_.add(attachment.host, attachment.path, room.index);
  }
}

void Live::adjust_queues(std::uint64_t version) {
  for (QueueConf* queue : queues()) {
    auto settings = file(*queue);
    if (operate::apply(operate::queue_fields(), adjustment(*queue), settings) || operate::check_together(settings)) {
      settings = file(*queue);
    }
    static_cast<operate::QueueSettings&>(*queue) = settings;
    if (QueueClient* client = QueueWorker::client(*queue); client != nullptr) {
      client->follow_limits(version);
    }
  }
}

// Rooms whose rows nobody may take: those of today and the newest ones, some of which are only being made; `name` is the last.
std::vector<std::string_view> Live::names_in_use(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const RoomConf* room : rooms_) {
    names.push_back(view(room->name));
  }
  for (std::size_t i = by_index_.size(); i > 0 && names.size() < Shared::kRooms - 1; --i) {
    names.push_back(view(by_index_[i - 1]->name));
  }
  names.push_back(name);
  return names;
}

RoomConf& Live::made(const std::string& name) {
  if (const auto found = made_.find(name); found != made_.end()) {
    return *found->second;
  }
  auto* room = make<RoomConf>(cycle_->pool);
  const ngx_str_t text = copy(cycle_->pool, name);
  if (room == nullptr || text.data == nullptr) {
    throw std::bad_alloc();
  }
  room->name = text;
  room->index = by_index_.size();
  room->row = claim_rows(conf_.zone, names_in_use(name)).back();
  if (room->row == nullptr || derive(cycle_->pool, *room) != conf_ok) {
    throw std::bad_alloc();
  }
  by_index_.push_back(room);
  made_.emplace(name, room);
  return *room;
}

RoomConf* Live::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(rooms_, [name](const RoomConf* room) { return view(room->name) == name; });
  return found == rooms_.end() ? nullptr : *found;
}

std::span<QueueConf* const> Live::queues() const noexcept {
  return queues_of(conf_);
}

QueueConf* Live::find_queue(std::string_view name) const noexcept {
  const auto all = queues();
  const auto found = std::ranges::find_if(all, [name](const QueueConf* queue) { return view(queue->name) == name; });
  return found == all.end() ? nullptr : *found;
}

RoomConf* Live::attached(std::string_view host, std::string_view uri) const noexcept {
  const auto index = attach_.find(host, uri);
  return index ? by_index_[*index] : nullptr;
}

operate::RoomSettings Live::file(const RoomConf& room) const noexcept {
  return is_made(room) ? operate::RoomSettings{} : rooms_of_file_[room.index];
}

const operate::RoomAdjustment& Live::adjustment(const RoomConf& room) const noexcept {
  const auto found = adjustments_.rooms.find(view(room.name));
  return found == adjustments_.rooms.end() ? unadjusted_room_ : found->second;
}

const operate::Overrides& Live::overrides(const RoomConf& room) const noexcept {
  const auto fitting = fitting_.find(view(room.name));
  return fitting == fitting_.end() ? adjustment(room).fields : fitting->second;
}

const operate::Overrides& Live::adjustment(const QueueConf& queue) const noexcept {
  const auto found = adjustments_.queues.find(view(queue.name));
  return found == adjustments_.queues.end() ? no_overrides_ : found->second;
}

}  // namespace fairway::ngx
