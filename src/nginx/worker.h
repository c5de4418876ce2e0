// What one worker process keeps: its view of the shared zone, tokens it has already checked, random bytes in stock, and the timer
// that once a second lets one worker of the gateway keep house (expire, save what is remembered).
#pragma once

#include <memory>
#include <span>

#include "core/token.h"
#include "nginx/live.h"
#include "nginx/shared.h"

namespace fairway::ngx {

class SharedSettings;
class StoreClient;

class Worker {
 public:
  // One per process; nullptr before start() and in processes without rooms.
  static Worker* get() noexcept { return instance_; }
  // Takes over what operators have changed; a load when nothing has.
  static void follow() noexcept {
    if (instance_ != nullptr) {
      instance_->live_.follow();
    }
  }
  static ngx_int_t start(ngx_cycle_t* cycle) noexcept;
  static void stop() noexcept;

  Shared& shared() noexcept { return *shared_of(zone_); }
  ngx_shm_zone_t* zone() noexcept { return zone_; }
  RoomRow& row(const RoomConf& room) noexcept { return *room.row; }
  bool has_row(const RoomConf& room) noexcept;
  Live& live() noexcept { return live_; }
  MainConf& conf() noexcept { return conf_; }
  const KeyRing& keys() const noexcept { return *keys_; }
  TokenCache& tokens() noexcept { return tokens_; }

  // Random bytes from OpenSSL, drawn in stock; false when there are none to be had.
  bool random(void* out, std::size_t size) noexcept;
  // For jitter only: 0 when no randomness is to be had.
  std::uint64_t random64() noexcept;

  // nullptr: the store is this gateway's own memory, and call() is there to ask it.
  StoreClient* store() noexcept { return store_.get(); }
  // What the gateways of a shared store share; nullptr with the memory store.
  SharedSettings* settings() noexcept { return settings_.get(); }
  // One call of the memory store for a room: takes the lock, tells what is remembered, remembers the answer, counts.
  room::Summary call(const RoomConf& room, std::span<const room::Operation> operations, std::span<room::Answer> answers) noexcept;
  // The session is refused from now on, by every worker.
  void end_session(const RoomConf& room, const Sid& sid) noexcept;
  // Of the memory store: an operator ends many, who are refused at once and counted in bounded steps.
  room::CutStatus cut(const RoomConf& room, const room::Cut& cut) noexcept;
  room::CutStatus go_on(const RoomConf& room, std::uint64_t id) noexcept;
  // Notes the next sessions that the store ended after `since`, for the case that it loses its memory; true when there are no more.
  bool note_ended(const RoomConf& room, std::uint64_t& since) noexcept;
  // A cut that the store told of: refused here from now on.
  void note_cut(const RoomConf& room, const room::CutNotice& notice) noexcept;
  // Whether a cut ended the token's session; `network`: where it is shown from.
  bool is_cut(const RoomConf& room, const Token& token, const Network& network) noexcept;
  // Notes where a session is; true when that makes too many networks for one session.
  bool see(const RoomConf& room, const Sid& sid, const Network& network) noexcept;
  // Forgets a room that is gone, and refuses everybody who was in it or in line, also in a later room of that name. True when nothing of it
  // is left; else clean_store() does a bounded step of what remains.
  bool forget(const RoomConf& room) noexcept;
  bool clean_store() noexcept;
  // Whether the memory store can hold one more room; a shared one says so when it is asked.
  bool fits_room() noexcept;
  // Bytes of the memory store that sessions can still take. Not with a shared store.
  std::size_t free_memory() noexcept;
  // False: more than allowed. `refund` takes a counted entry back.
  bool allow_poll(const RoomConf& room, const Sid& sid) noexcept;
  bool allow_entry(const RoomConf& room, const sockaddr* address) noexcept;
  void refund_entry(const RoomConf& room, const sockaddr* address) noexcept;
  // Without the store: whether one more may come in, by the room's rate.
  bool allow_unseen(const RoomConf& room) noexcept;
  // What an answered call of a shared store told; `outage`: Breaker::outages() when it was begun.
  void learn(const RoomConf& room, const room::Summary& summary, std::uint64_t outage) noexcept;
  // For the time when the store cannot be asked: the rank told last, 0 when it is not known.
  void rank_told(const Sid& sid, std::uint64_t rank) noexcept {
    if (shared().ranks != nullptr) {
      shared().ranks->put(sid, rank);
    }
  }
  std::uint64_t last_rank(const Sid& sid) noexcept { return shared().ranks == nullptr ? 0 : shared().ranks->get(sid); }
  void log_store_down(std::string_view why) noexcept;
  void log_store_back() noexcept;
  void log_full(const RoomConf& room) noexcept;
  // Changed settings cannot be shared, though the store answers.
  void log_not_shared(const std::string& why) noexcept;
  // Whether what operators have changed would be there after a restart.
  bool settings_saved() noexcept { return conf_.keep_state && shared().board->is_saved(); }
  // A token valid until then was given out.
  void token_given(const RoomConf& room, std::int64_t expires) noexcept;
  void count(const RoomConf& room, Outcome outcome) noexcept {
    row(room).answers[static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Worker(ngx_cycle_t* cycle, MainConf& conf);
  ~Worker();
  static void on_tick(ngx_event_t* event) noexcept;
  void tick() noexcept;
  static bool is_due(std::atomic<std::int64_t>& last_time, ngx_msec_t period) noexcept;
  void keep_house(const RoomConf& room) noexcept;
  void save(ngx_log_t* log, bool at_once) noexcept;
  void note(const RoomConf& room, const room::Summary& summary) noexcept;      // under the lock
  void add_cut(const RoomConf& room, const room::CutNotice& notice) noexcept;  // likewise
  void record_history() noexcept;
  room::Summary locked_call(const RoomConf& room, std::span<const room::Operation> operations, std::span<room::Answer> answers) noexcept;

  static Worker* instance_;

  ngx_cycle_t* cycle_;
  MainConf& conf_;
  ngx_shm_zone_t* zone_;
  const KeyRing* keys_;
  TokenCache tokens_;
  Live live_;
  std::unique_ptr<StoreClient> store_;
  std::unique_ptr<SharedSettings> settings_;
  ngx_event_t tick_{};
  ngx_connection_t connection_{};  // nginx's debug log reads a timer's data as a connection
  unsigned char stock_[1024];
  std::size_t stock_left_ = 0;
};

// Clocks. Wall clock in µs for the store, which makes it steady itself; steady clock in ms for the limiters.
Micros wall_clock_us() noexcept;
std::uint64_t steady_clock_ms() noexcept;

}  // namespace fairway::ngx
