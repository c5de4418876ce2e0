// One worker's side of a shared store: drives the client state machine (store/valkey/client.h) on nginx's sockets, timers and
// posted events, hands answers to those who asked, and keeps what the gateway remembers of its rooms up to date.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "nginx/config.h"
#include "nginx/shared.h"
#include "nginx/store_conf.h"
#include "nginx/store_socket.h"
#include "store/valkey/client.h"

namespace fairway::ngx {

class Worker;

// Somebody who asked the store; told exactly once unless withdrawn before. Never told inside the call that asked.
class Asker {
 public:
  virtual ~Asker() = default;
  virtual void answered(const valkey::Completion& completion) noexcept = 0;
};

class StoreClient final : private valkey::Rooms, private StoreSocket::Owner {
 public:
  using Ticket = std::uint64_t;  // names a question; 0: none

  StoreClient(ngx_cycle_t* cycle, const MainConf& conf, Worker& worker, std::uint64_t seed);
  ~StoreClient() override;
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  // What several callers ask in one turn of the event loop goes out in one call. 0: no memory, nobody will be told.
  Ticket ask(Asker& asker, const RoomConf& room, const room::Operation& operation) noexcept;
  Ticket cut(Asker& asker, const RoomConf& room, const room::Cut& cut) noexcept;
  Ticket go_on(Asker& asker, const RoomConf& room, std::uint64_t cut_id) noexcept;
  Ticket settings(Asker& asker, valkey::SettingsRequest request) noexcept;
  // The asker is gone; the question may still reach the store.
  void withdraw(Ticket ticket) noexcept { askers_.erase(ticket); }

  // A release that nobody waits for. Like any release it is repeated when the store is back, should it not reach it.
  void release(const RoomConf& room, const room::Operation& operation) noexcept;
  // Counts, housekeeping and who was ended, with the next call of the room.
  void refresh(const RoomConf& room) noexcept;
  // Once a second: what could not be told is told again.
  void tick() noexcept;

 private:
  struct Release {
    valkey::RoomId room;
    room::Operation operation;
  };

  View view(valkey::RoomId room) override;
  void opened(valkey::Link::Id id) noexcept override;
  bool received(valkey::Link::Id id, std::string_view bytes) noexcept override;
  void writable() noexcept override;
  void closed(valkey::Link::Id id, std::string_view why) noexcept override;
  void exiting() noexcept override;

  static void on_event(ngx_event_t* event) noexcept;
  void need_client();  // may throw std::bad_alloc
  template <class Run>
  void guarded(Run run) noexcept;
  template <class Submit>
  Ticket submit(Asker& asker, Submit submit) noexcept;
  void start_over() noexcept;
  void run() noexcept;
  void conform();
  void hand_out();
  void take_notes();
  void note(const valkey::Report& report);
  void note_changes(const RoomConf& room, const valkey::Response& response);
  void set_timer() noexcept;
  bool idle() const noexcept { return askers_.empty() && releases_.empty(); }
  valkey::RoomId id_of(const RoomConf& room);
  const RoomConf& room(valkey::RoomId id) const noexcept { return *rooms_[id]; }

  const MainConf& conf_;
  Worker& worker_;
  std::uint64_t seed_;
  ngx_log_t log_;                       // takes what nginx says of the connections: nothing below an alert, we say it once
  std::vector<const RoomConf*> rooms_;  // those that were asked about, by index; they live as long as the worker
  std::unique_ptr<valkey::Client> client_;
  std::map<valkey::Link::Id, StoreSocket> sockets_;
  std::multimap<valkey::Link::Id, StoreSocket> dead_;  // closed; one of them may be the caller
  Ticket last_ticket_ = 0;
  std::unordered_map<Ticket, Asker*> askers_;
  std::unordered_map<Ticket, Release> releases_;  // under way
  std::deque<Release> owed_;                      // releases that did not reach the store
  std::string trouble_;                           // what the last lost connection died of
  ngx_event_t soon_{};
  ngx_event_t timer_{};
  ngx_connection_t connection_{};  // nginx's debug log reads a timer's data as a connection
};

}  // namespace fairway::ngx
