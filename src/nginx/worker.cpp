#include "nginx/worker.h"

#include <openssl/rand.h>

#include <algorithm>
#include <ctime>

#include "nginx/address.h"
#include "nginx/settings_file.h"
#include "nginx/shared_settings.h"
#include "nginx/state_file.h"
#include "nginx/store_client.h"

namespace fairway::ngx {

Worker* Worker::instance_ = nullptr;

namespace {

constexpr ngx_msec_t kTick = 1000;        // ms
constexpr ngx_msec_t kSync = 500;         // ms; so that what another gateway changed is here within a second
constexpr int kCallsPerTick = 100;        // of 200 entries each: 100,000 dead waiters are gone in seconds
constexpr std::uint64_t kSecond = 1'000;  // ms, as the limiters count
constexpr std::uint64_t kMinute = 60'000;

std::uint64_t limiter_key(const SipKey& key, const RoomConf& room, const void* data, std::size_t size) noexcept {
  unsigned char buffer[64];
  const std::size_t name = std::min<std::size_t>(room.name.len, 32);
  ngx_memcpy(buffer, room.name.data, name);
  ngx_memcpy(buffer + name, data, size);
  return siphash(key, buffer, name + size);
}

}  // namespace

Micros wall_clock_us() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return Micros{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

std::uint64_t steady_clock_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

Worker::Worker(ngx_cycle_t* cycle, MainConf& conf)
    : cycle_(cycle), conf_(conf), zone_(conf.zone), keys_(conf.keys->get()), live_(conf, cycle) {
  live_.follow();
  connection_.fd = static_cast<ngx_socket_t>(-1);
  tick_.handler = on_tick;
  tick_.data = &connection_;
  tick_.log = cycle->log;
  tick_.cancelable = 1;  // must not keep an exiting worker alive
  if (conf.store != nullptr) {
    store_ = std::make_unique<StoreClient>(cycle, conf, *this, random64());
    settings_ = std::make_unique<SharedSettings>(*this);
  }
}

Worker::~Worker() = default;

ngx_int_t Worker::start(ngx_cycle_t* cycle) noexcept {
  MainConf* conf = main_conf(cycle);
  if (conf == nullptr || conf->zone == nullptr || (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)) {
    return NGX_OK;
  }
  try {
    instance_ = new Worker(cycle, *conf);
  } catch (...) {
    ngx_log_error(NGX_LOG_EMERG, cycle->log, 0, "fairway: no memory for the worker");
    return NGX_ERROR;
  }
  save_settings(*conf, instance_->shared(), cycle->log, false);  // after a reload the folder may be another one
  add_timer(&instance_->tick_, conf->store == nullptr ? kTick : kSync);
  return NGX_OK;
}

void Worker::stop() noexcept {
  if (instance_ != nullptr) {
    instance_->save(instance_->cycle_->log, true);
    delete_timer(&instance_->tick_);
    delete instance_;
    instance_ = nullptr;
  }
}

bool Worker::random(void* out, std::size_t size) noexcept {
  if (stock_left_ < size) {
    if (RAND_bytes(stock_, sizeof(stock_)) != 1) {
      return false;
    }
    stock_left_ = sizeof(stock_);
  }
  stock_left_ -= size;
  ngx_memcpy(out, stock_ + stock_left_, size);
  ngx_memzero(stock_ + stock_left_, size);
  return true;
}

std::uint64_t Worker::random64() noexcept {
  std::uint64_t value = 0;
  return random(&value, sizeof(value)) ? value : 0;
}

room::Summary Worker::locked_call(const RoomConf& room, std::span<const room::Operation> operations,
                                  std::span<room::Answer> answers) noexcept {
  const Lock lock(zone_);
  const room::Memory memory = has_row(room) ? row(room).memory() : room::Memory{};
  const room::Summary summary = shared().store->call(view(room.name), wall_clock_us(), room.settings, memory, operations, answers, ngx_pid);
  note(room, summary);
  return summary;
}

// An old worker's rooms may have lost their rows to rooms of newer configurations.
bool Worker::has_row(const RoomConf& room) noexcept {
  return std::string_view(row(room).name) == view(room.name);
}

void Worker::note(const RoomConf& room, const room::Summary& summary) noexcept {
  if (!has_row(room)) {
    return;
  }
  RoomRow& row = this->row(room);
  row.summary = summary;
  row.remember({summary.epoch, summary.version, summary.last_number, summary.inside, summary.waiting, false});
  row.rate.sample(summary.now, summary.admitted_total, summary.abandoned_total, summary.waiting);
}

room::Summary Worker::call(const RoomConf& room, std::span<const room::Operation> operations, std::span<room::Answer> answers) noexcept {
  const room::Summary summary = locked_call(room, operations, answers);
  RoomRow& row = this->row(room);
  row.store_calls.fetch_add(1, std::memory_order_relaxed);
  for (const room::Answer& answer : answers) {
    if (answer.state == room::State::no_memory) {
      row.store_full.fetch_add(1, std::memory_order_relaxed);
      log_full(room);
    }
  }
  for (int again = 0; again < 3; ++again) {  // bounded work was left: once more at once, the rest at the next tick
    if (!summary.more_work || !locked_call(room, {}, {}).more_work) {
      break;
    }
  }
  return summary;
}

// One line a minute, over all workers.
void Worker::log_full(const RoomConf& room) noexcept {
  std::int64_t last = shared().last_full_log.load(std::memory_order_relaxed);
  if (ngx_time() - last >= 60 && shared().last_full_log.compare_exchange_strong(last, ngx_time())) {
    const char* remedy = conf_.store == nullptr ? "give \"fairway_store memory\" more" : "the store is at its maxmemory";
    ngx_log_error(NGX_LOG_ERR, cycle_->log, 0,
                  "fairway: no memory left for sessions of waiting_room \"%V\": newcomers get the busy answer; %s", &room.name, remedy);
  }
}

void Worker::end_session(const RoomConf& room, const Sid& sid) noexcept {
  // as long as any pass or ticket of it could count
  const Micros life = std::max(room.settings.session_timeout, room.settings.abandon_timeout) + room.settings.return_grace;
  const std::int64_t now = ngx_time();
  const Lock lock(zone_);
  shared().ended->add(sid, now + life / 1'000'000 + 1, now);
}

bool Worker::allow_poll(const RoomConf& room, const Sid& sid) noexcept {
  const std::uint64_t key = limiter_key(shared().hash_key, room, sid.bytes.data(), sid.bytes.size());
  const Lock lock(zone_);
  const bool allowed = shared().polls->admit(key, room.polls_per_second, kSecond, steady_clock_ms());
  if (!allowed) {
    RoomRow& row = *room.row;
    row.refused_polls = row.refused_second == ngx_time() ? row.refused_polls + 1 : 1;
    row.refused_second = ngx_time();
    if (row.refused_polls > kPollFlood) {
      row.poll_flood.store(ngx_time(), std::memory_order_relaxed);
    }
  }
  return allowed;
}

bool Worker::allow_entry(const RoomConf& room, const sockaddr* address) noexcept {
  const EntryAddress entry = entry_address(address);
  if (room.entries_per_minute == 0 || (entry.local && !room.entries_set)) {
    return true;
  }
  const std::uint64_t key = limiter_key(shared().hash_key, room, entry.bytes, entry.size);
  const Lock lock(zone_);
  return shared().entries->admit(key, room.entries_per_minute, kMinute, steady_clock_ms());
}

void Worker::refund_entry(const RoomConf& room, const sockaddr* address) noexcept {
  const EntryAddress entry = entry_address(address);
  if (room.entries_per_minute == 0 || (entry.local && !room.entries_set)) {
    return;
  }
  const std::uint64_t key = limiter_key(shared().hash_key, room, entry.bytes, entry.size);
  const Lock lock(zone_);
  shared().entries->refund(key, kMinute, steady_clock_ms());
}

void Worker::token_given(const RoomConf& room, std::int64_t expires) noexcept {
  RoomRow& row = this->row(room);
  const std::int64_t until = expires + room.settings.return_grace / 1'000'000;
  if (until > row.tokens_until) {  // a lost update costs nothing: the next token says it again
    row.tokens_until = until;
  }
}

void Worker::on_tick(ngx_event_t* event) noexcept {
  if (instance_ == nullptr) {
    return;
  }
  instance_->tick();
  if (ngx_exiting == 0) {
    add_timer(event, instance_->store_ == nullptr ? kTick : kSync);
  }
}

// Whether this worker is the first to do something again after most of `period`, ms.
bool Worker::is_due(std::atomic<std::int64_t>& last_time, ngx_msec_t period) noexcept {
  const auto now = static_cast<std::int64_t>(steady_clock_ms());
  std::int64_t last = last_time.load(std::memory_order_relaxed);
  return now - last >= static_cast<std::int64_t>(period) * 9 / 10 && last_time.compare_exchange_strong(last, now);
}

void Worker::tick() noexcept {
  if (store_ != nullptr) {
    store_->tick();
  }
  if (settings_ != nullptr && is_due(shared().last_sync, kSync)) {
    settings_->sync();
  }
  if (!is_due(shared().last_tick, kTick)) {
    return;  // another worker did it
  }
  live_.follow();
  for (const RoomConf* room : live_.rooms()) {
    keep_house(*room);
  }
  for (int calls = 0; calls < kCallsPerTick && !clean_store(); ++calls) {  // of rooms whose deletion nobody waited for
  }
  record_history();
  save(cycle_->log, false);
}

void Worker::keep_house(const RoomConf& room) noexcept {
  if (store_ != nullptr) {
    store_->refresh(room);  // other gateways may have begun the room
    return;
  }
  RoomRow& row = this->row(room);
  if (row.memory().epoch == 0) {
    return;  // nothing to remember: nobody has come yet
  }
  if (row.idle_since_last_token(ngx_time())) {
    const Lock lock(zone_);
    row.remember({});
    return;
  }
  for (int calls = 0; calls < kCallsPerTick && locked_call(room, {}, {}).more_work; ++calls) {
  }
}

void Worker::save(ngx_log_t* log, bool at_once) noexcept {
  save_settings(conf_, shared(), log, at_once);
  save_state(conf_, shared(), log, at_once);
}

}  // namespace fairway::ngx
