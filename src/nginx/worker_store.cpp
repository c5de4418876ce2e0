// A worker's dealings with a shared store that concern the whole gateway: what is remembered of an answer, what the log says of an
// outage, and who may come in meanwhile.
#include "nginx/store_conf.h"
#include "nginx/worker.h"

namespace fairway::ngx {

namespace {

constexpr std::int64_t kOutageLog = 10;  // s between two lines about outages

bool is_newer(const room::Summary& summary, const room::Summary& known) noexcept {
  return summary.epoch > known.epoch || (summary.epoch == known.epoch && summary.version > known.version);
}

}  // namespace

void Worker::learn(const RoomConf& room, const room::Summary& summary, std::uint64_t outage) noexcept {
  RoomRow& row = this->row(room);
  {
    const Lock lock(zone_);
    if (is_newer(summary, row.summary)) {  // answers to two workers may cross
      row.summary = summary;
      row.rate.sample(summary.now, summary.admitted_total, summary.abandoned_total, summary.waiting);
      const bool idle = row.idle_since_last_token(ngx_time());
      row.remember(idle ? room::Memory{}
                        : room::Memory{summary.epoch, summary.version, summary.last_number, summary.inside, summary.waiting, false});
    }
  }
  std::uint64_t told = row.told_outage.load(std::memory_order_relaxed);
  while (told < outage && !row.told_outage.compare_exchange_weak(told, outage, std::memory_order_relaxed)) {
  }
}

bool Worker::allow_unseen(const RoomConf& room) noexcept {
  if (room.settings.rate_window == 0) {
    return true;
  }
  const std::uint64_t key = siphash(shared().hash_key, room.name.data, room.name.len);
  const Lock lock(zone_);
  return shared().entries->admit(key, room.settings.rate, static_cast<std::uint64_t>(room.settings.rate_window / 1'000), steady_clock_ms());
}

// One line an outage, over all workers, and no more than one in 10 s.
void Worker::log_store_down(std::string_view why) noexcept {
  Shared& all = shared();
  const std::uint64_t outages = all.breaker.outages();
  std::uint64_t logged = all.logged_outage.load(std::memory_order_relaxed);
  if (outages == logged || !all.logged_outage.compare_exchange_strong(logged, outages) ||
      ngx_time() - all.last_outage_log.load(std::memory_order_relaxed) < kOutageLog) {
    return;
  }
  all.last_outage_log.store(ngx_time(), std::memory_order_relaxed);
  all.outage_said.store(true, std::memory_order_relaxed);
  ngx_str_t words = str(why);
  ngx_log_error(NGX_LOG_ERR, cycle_->log, 0,
                "fairway: the store at %s does not answer (%V): those inside go on, the others get what on_store_failure says",
                conf_.store->hosts.c_str(), &words);
}

void Worker::log_not_shared(const std::string& why) noexcept {
  shared().settings_not_shared.store(true, std::memory_order_relaxed);
  std::int64_t last = shared().last_settings_log.load(std::memory_order_relaxed);
  if (ngx_time() - last >= 60 && shared().last_settings_log.compare_exchange_strong(last, ngx_time())) {
    ngx_log_error(NGX_LOG_ERR, cycle_->log, 0, "fairway: the store at %s cannot share what operators change (%s)",
                  conf_.store->hosts.c_str(), why.c_str());
  }
}

void Worker::log_store_back() noexcept {
  Shared& all = shared();
  if (all.outage_said.load(std::memory_order_relaxed) && !all.breaker.open() && all.outage_said.exchange(false)) {
    ngx_log_error(NGX_LOG_WARN, cycle_->log, 0, "fairway: the store at %s answers again", conf_.store->hosts.c_str());
  }
}

}  // namespace fairway::ngx
