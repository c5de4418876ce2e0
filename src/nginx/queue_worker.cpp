#include "nginx/queue_worker.h"

#include <openssl/rand.h>

#include <span>

#include "nginx/worker.h"

namespace fairway::ngx {

QueueWorker* QueueWorker::instance_ = nullptr;

namespace {

constexpr ngx_msec_t kTick = queue::kTickPeriod / queue::kMillisecond;
constexpr ngx_msec_t kSweep = 500;  // ms: a dead worker's slots are back within 1 s

std::size_t page_aligned(std::size_t bytes) noexcept {
  return (bytes + ngx_pagesize - 1) / ngx_pagesize * ngx_pagesize;
}

QueueShared* lay_out(ngx_slab_pool_t* pool, const QueueConf& conf) noexcept {
  const std::size_t size = page_aligned(queue::FairQueue::bytes_for(conf.capacity));
  auto* shared = static_cast<QueueShared*>(ngx_slab_calloc(pool, page_aligned(sizeof(QueueShared))));
  void* block = ngx_slab_alloc(pool, size);
  SipKey key;
  if (shared == nullptr || block == nullptr || RAND_bytes(reinterpret_cast<unsigned char*>(&key), sizeof(key)) != 1 ||
      !queue::FairQueue::create(block, size, conf.capacity, conf.limits, key)) {
    return nullptr;
  }
  shared->size = size;
  shared->block = block;
  shared->layout = QueueShared::kLayout;
  return shared;
}

}  // namespace

std::size_t queue_zone_size(const queue::Capacity& capacity) noexcept {
  const std::size_t parts = page_aligned(queue::FairQueue::bytes_for(capacity)) + page_aligned(sizeof(QueueShared));
  return page_aligned(parts + parts / 128 + 64 * ngx_pagesize);  // a slab page costs its pool 16 to 24 bytes
}

ngx_int_t init_queue_zone(ngx_shm_zone_t* zone, void* old_data) noexcept {
  auto& conf = *static_cast<QueueConf*>(zone->data);
  auto* shared = static_cast<QueueShared*>(old_data);
  if (shared == nullptr) {
    auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
    pool->log_nomem = 0;
    shared = lay_out(pool, conf);
    if (shared == nullptr) {
      ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0, "fairway: cannot lay out %uz bytes of shared memory for fair_queue \"%V\"",
                    zone->shm.size, &conf.name);
      return NGX_ERROR;
    }
  } else if (shared->layout != QueueShared::kLayout || !queue::FairQueue::attach(shared->block, shared->size)) {
    ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                  "fairway: the running gateway's shared memory is of another version: restart nginx instead of reloading");
    return NGX_ERROR;
  }
  conf.generation = ++shared->generation;
  zone->data = shared;
  return NGX_OK;
}

QueueWorker::QueueWorker(ngx_cycle_t* cycle) {
  connection_.fd = static_cast<ngx_socket_t>(-1);
  for (ngx_event_t* event : {&tick_, &sweep_, &mail_}) {
    event->data = &connection_;
    event->log = cycle->log;
    event->cancelable = 1;  // waiting requests keep an exiting worker alive by their own timers
  }
  tick_.handler = on_tick;
  sweep_.handler = on_sweep;
  mail_.handler = on_mail;
}

ngx_int_t QueueWorker::start(ngx_cycle_t* cycle) noexcept {
  const MainConf* conf = main_conf(cycle);
  if (conf == nullptr || conf->queues.nelts == 0 || (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)) {
    return NGX_OK;
  }
  try {
    const std::uint64_t version = Worker::get() == nullptr ? 0 : Worker::get()->live().version();
    instance_ = new QueueWorker(cycle);
    if (instance_->mailbox_.open(cycle, on_wake) != NGX_OK) {
      return NGX_ERROR;
    }
    instance_->clients_.reserve(conf->queues.nelts);
    for (const QueueConf* queue : std::span(static_cast<QueueConf**>(conf->queues.elts), conf->queues.nelts)) {
      const auto* shared = static_cast<QueueShared*>(queue->zone->data);
      auto attached = queue::FairQueue::attach(shared->block, shared->size);
      if (!attached) {
        return NGX_ERROR;
      }
      instance_->clients_.emplace_back(*queue, *attached);
      if (!instance_->clients_.back().join(instance_->mailbox_, version)) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                      "fairway: more than %uD workers on fair_queue \"%V\": this one refuses its requests until others are gone",
                      queue::kMaxWorkers, &queue->name);
      }
    }
  } catch (...) {
    ngx_log_error(NGX_LOG_EMERG, cycle->log, 0, "fairway: no memory for the worker");
    return NGX_ERROR;
  }
  add_timer(&instance_->sweep_, kSweep);
  return NGX_OK;
}

void QueueWorker::stop() noexcept {
  if (instance_ == nullptr) {
    return;
  }
  for (QueueClient& client : instance_->clients_) {
    client.leave();
  }
  instance_->mailbox_.close();
  for (ngx_event_t* event : {&instance_->tick_, &instance_->sweep_, &instance_->mail_}) {
    delete_timer(event);
    unpost(event);
  }
  delete instance_;
  instance_ = nullptr;
}

QueueClient* QueueWorker::client(const QueueConf& conf) noexcept {
  return instance_ == nullptr ? nullptr : &instance_->clients_[conf.index];
}

void QueueWorker::after_change(const QueueClient&) noexcept {
  if (instance_ != nullptr && !instance_->tick_.timer_set) {
    add_timer(&instance_->tick_, kTick);
  }
}

void QueueWorker::read_own_mail() noexcept {
  if (instance_ != nullptr) {
    post(&instance_->mail_);
  }
}

void QueueWorker::on_wake() noexcept {
  for (QueueClient& client : instance_->clients_) {
    client.read_mail();
  }
}

void QueueWorker::on_mail(ngx_event_t*) noexcept {
  if (instance_ != nullptr) {
    on_wake();
  }
}

void QueueWorker::on_tick(ngx_event_t*) noexcept {
  if (instance_ != nullptr) {
    for (QueueClient& client : instance_->clients_) {
      if (client.needs_tick()) {
        client.tick();  // comes back through after_change while there is need
      }
    }
  }
}

void QueueWorker::on_sweep(ngx_event_t* event) noexcept {
  if (instance_ == nullptr) {
    return;
  }
  for (QueueClient& client : instance_->clients_) {
    client.sweep();
    client.keep_joined();
    client.read_mail();  // a lost wake costs no more than this
  }
  add_timer(event, kSweep);
}

}  // namespace fairway::ngx
