// What operators ask of a worker: sessions ended, rooms forgotten, and the counts of each second for their charts.
#include <ctime>

#include "core/room_state.h"
#include "nginx/queue_worker.h"
#include "nginx/worker.h"

namespace fairway::ngx {

room::CutStatus Worker::cut(const RoomConf& room, const room::Cut& cut) noexcept {
  RoomRow& row = *room.row;
  const Lock lock(zone_);
  room::Summary summary;
  const room::CutStatus status = shared().store->cut(view(room.name), wall_clock_us(), room.settings, row.memory(), cut, summary, ngx_pid);
  note(room, summary);
  if (status.id != 0) {
    add_cut(room, {cut, summary.now, summary.last_number, status.id});
  }
  return status;
}

room::CutStatus Worker::go_on(const RoomConf& room, std::uint64_t id) noexcept {
  const Lock lock(zone_);
  room::Summary summary;
  const room::CutStatus status =
      shared().store->go_on(view(room.name), wall_clock_us(), room.settings, room.row->memory(), id, summary, ngx_pid);
  note(room, summary);
  return status;
}

bool Worker::note_ended(const RoomConf& room, std::uint64_t& since) noexcept {
  std::array<room::Ended, 256> ended;
  room::Changes changes{ended, {}};
  const std::int64_t now = ngx_time();
  const std::int64_t until = now + room::token_life(room.settings) / 1'000'000 + 1;
  const Lock lock(zone_);
  note(room, shared().store->stats(view(room.name), wall_clock_us(), room.settings, room.row->memory(), since, changes, ngx_pid));
  for (const room::Ended& one : std::span(ended).first(changes.ended_count)) {
    shared().ended->add(one.sid, until, now);
    since = one.version;
  }
  return !changes.more;
}

void Worker::note_cut(const RoomConf& room, const room::CutNotice& notice) noexcept {
  const Lock lock(zone_);
  add_cut(room, notice);
}

void Worker::add_cut(const RoomConf& room, const room::CutNotice& notice) noexcept {
  operate::CutEntry entry;
  entry.at = notice.at / 1'000'000;
  entry.number = notice.cut.line ? notice.number : 0;
  entry.until = entry.at + room::token_life(room.settings) / 1'000'000 + 1;
  entry.network = notice.cut.network;
  room.row->cuts.add(entry);
  shared().cuts_made.fetch_add(1);
}

bool Worker::is_cut(const RoomConf& room, const Token& token, const Network& network) noexcept {
  const operate::CutList& cuts = room.row->cuts;
  const bool is_pass = token.kind == TokenKind::pass;
  if (cuts.latest() == 0 || (is_pass && token.admitted > cuts.latest())) {
    return false;
  }
  const Lock lock(zone_);
  return is_pass ? cuts.hits_pass(token.admitted, token.number, network, ngx_time()) : cuts.hits_ticket(token.number, network, ngx_time());
}

bool Worker::see(const RoomConf& room, const Sid& sid, const Network& network) noexcept {
  const SipKey& key = shared().hash_key;
  const std::uint64_t session = siphash(key, sid.bytes.data(), sid.bytes.size());
  const auto place = static_cast<std::uint32_t>(siphash(key, network.bytes.data(), network.size));
  const Lock lock(zone_);
  const bool many = shared().networks->see(session, place, ngx_time());
  if (many) {
    room.row->passed_on.store(ngx_time(), std::memory_order_relaxed);
  }
  return many;
}

bool Worker::forget(const RoomConf& room) noexcept {
  const Lock lock(zone_);
  RoomRow& row = *room.row;
  if (store_ == nullptr) {  // a shared store was told of the cut, and tells of it
    add_cut(room, {{{}, true}, std::max(wall_clock_us(), row.summary.now), row.memory().last_number, 0});
  }
  row.remember({});
  row.summary = {};
  row.rate = {};
  return store_ != nullptr || shared().store->remove(view(room.name), ngx_pid);
}

bool Worker::fits_room() noexcept {
  const Lock lock(zone_);
  return store_ != nullptr || shared().store->fits_room(ngx_pid);
}

std::size_t Worker::free_memory() noexcept {
  const Lock lock(zone_);
  return shared().store->free_for_sessions();
}

bool Worker::clean_store() noexcept {
  const Lock lock(zone_);
  return store_ != nullptr || shared().store->clean(ngx_pid);
}

void Worker::record_history() noexcept {
  const std::int64_t now = ngx_time();
  const std::int64_t last = shared().last_recorded.exchange(now);
  const std::int64_t first = std::max(last + 1, now - 4);  // a busy worker may come late: what it finds held for the seconds missed, too
  for (const RoomConf* room : live_.rooms()) {
    const Lock lock(zone_);
    const room::Summary& summary = room->row->summary;
    RoomHistory& history = shared().histories[room->row - shared().rooms];
    for (std::int64_t second = first; second <= now; ++second) {
      history.record(second, {summary.waiting, summary.inside, static_cast<std::uint32_t>(summary.admitted_total)});
    }
  }
  for (const QueueConf* queue : live_.queues()) {
    if (QueueClient* client = QueueWorker::client(*queue)) {
      client->record(first, now);
    }
  }
}

}  // namespace fairway::ngx
