// One worker's side of the fair queues: per queue an attachment to its shared block, the requests of this worker that wait or run,
// and the mail that tells of grants and evictions.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "core/fair_queue.h"
#include "nginx/board.h"
#include "nginx/config.h"
#include "nginx/mailbox.h"
#include "nginx/ngx.h"
#include "nginx/one_address.h"
#include "nginx/turn.h"

namespace fairway::ngx {

// What lies in a queue's zone, beside the block of FairQueue.
// Of which nginx.conf limits are, and of which version of the operators' changes over it: later ones compare greater.
struct LimitsStamp {
  std::uint64_t generation = 0;
  std::uint64_t version = 0;
  auto operator<=>(const LimitsStamp&) const = default;
};

struct QueueShared {
  static constexpr std::uint64_t kLayout = 0x66617175'00000004;  // "faqu", version
  std::uint64_t layout;
  std::size_t size;  // of the block
  void* block;
  std::atomic<std::uint64_t> bad_costs;  // cost and cpu headers that were not understood
  OneAddress one_address;
  std::uint64_t generation;  // of nginx.conf: grows with each that is loaded
  LimitsStamp limits;        // of those in force; under the lock
  QueueHistory history;      // under the lock
};

std::size_t queue_zone_size(const queue::Capacity& capacity) noexcept;
// Callback of the zone; its data is the QueueConf before and the QueueShared afterwards.
ngx_int_t init_queue_zone(ngx_shm_zone_t* zone, void* old_data) noexcept;

class QueueClient {
 public:
  QueueClient(const QueueConf& conf, queue::FairQueue queue) noexcept : conf_(conf), queue_(queue) {}

  bool join(const Mailbox& mailbox,
            std::uint64_t version) noexcept;  // false: no row for this worker; keep_joined() and acquire() try again
  void leave() noexcept;
  // An exiting worker may live for days, for the sake of a tunnel: with no turn left it gives its row to others, and takes one again
  // when it needs it.
  void keep_joined() noexcept;

  // Asks for a slot; the turn is running, waiting or refused afterwards.
  void acquire(Turn& turn) noexcept;
  void release(Turn& turn, const queue::Outcome& outcome) noexcept;
  void cancel(Turn& turn) noexcept;
  void time_out(Turn& turn) noexcept;
  void count_bypass() noexcept;
  void follow_limits(std::uint64_t version) noexcept;  // takes over those of conf(), unless later ones are in force

  void read_mail() noexcept;
  void tick() noexcept;
  void sweep() noexcept;  // gives back what dead workers held
  bool needs_tick() const noexcept { return needs_tick_; }

  QueueShared& shared() const noexcept { return *static_cast<QueueShared*>(conf_.zone->data); }
  const QueueConf& conf() const noexcept { return conf_; }
  const SipKey& hash_key() const noexcept { return queue_.hash_key(); }

  void record(std::int64_t first, std::int64_t last) noexcept;  // in the history, for these seconds (Unix)

  // Runs function(const FairQueue&) under the lock, for metrics and the like.
  template <class F>
  void look(F function) noexcept {
    const Hold hold(*this);
    function(static_cast<const queue::FairQueue&>(queue_));
  }

 private:
  // The zone's lock and the bracket of a change; wakes whom the change concerns once the lock is free.
  class Hold {
   public:
    explicit Hold(QueueClient& client) noexcept;
    ~Hold();
    queue::Nanos now() const noexcept { return now_; }

   private:
    QueueClient& client_;
    queue::Nanos now_;
  };

  bool enroll(const Hold& hold) noexcept;
  bool enroll_again() noexcept;
  void register_again(queue::Nanos now) noexcept;
  void deliver(const queue::Mail& mail) noexcept;
  void granted(Turn& turn, queue::Nanos waited) noexcept;
  void refuse(Turn& turn, queue::Status status, std::uint32_t retry_after) noexcept;
  void link(Turn& turn) noexcept;
  void unlink(Turn& turn) noexcept;

  const QueueConf& conf_;
  queue::FairQueue queue_;
  const Mailbox* mailbox_ = nullptr;
  std::uint32_t worker_ = 0;
  bool joined_ = false;
  bool needs_tick_ = false;
  std::uint64_t version_ = 0;  // of the operators' changes that conf() holds
  std::uint64_t generation_ = 0;
  std::uint64_t tokens_ = 0;  // names given to requests
  Turn* turns_ = nullptr;
};

// All queues of this process.
class QueueWorker {
 public:
  static ngx_int_t start(ngx_cycle_t* cycle) noexcept;
  static void stop() noexcept;
  // nullptr in processes without queues.
  static QueueClient* client(const QueueConf& conf) noexcept;
  // Called after each change: keeps the tick going while time alone may open a slot, and reads mail to itself soon.
  static void after_change(const QueueClient& client) noexcept;
  static void read_own_mail() noexcept;

 private:
  static void on_wake() noexcept;
  static void on_tick(ngx_event_t* event) noexcept;
  static void on_sweep(ngx_event_t* event) noexcept;
  static void on_mail(ngx_event_t* event) noexcept;
  explicit QueueWorker(ngx_cycle_t* cycle);

  static QueueWorker* instance_;
  std::vector<QueueClient> clients_;
  Mailbox mailbox_;
  ngx_event_t tick_{};
  ngx_event_t sweep_{};
  ngx_event_t mail_{};
  ngx_connection_t connection_{};  // nginx's debug log reads a timer's data as a connection
};

}  // namespace fairway::ngx
