#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "nginx/queue_worker.h"

namespace fairway::ngx {

namespace {

constexpr std::size_t kMailBatch = 64;

// When a process began, in clock ticks since boot (field 22 of its stat line): tells it from a later one with the same pid.
std::uint64_t start_time(std::int64_t pid) noexcept {
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", static_cast<int>(pid));
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) {
    return 0;
  }
  char text[1024];
  const std::size_t size = std::fread(text, 1, sizeof(text) - 1, file);
  std::fclose(file);
  text[size] = '\0';
  const char* field = std::strrchr(text, ')');  // the name before it may hold anything; field 3 follows
  for (int number = 2; field != nullptr && number < 22; ++number) {
    field = std::strchr(field + 1, ' ');
  }
  std::uint64_t started = 0;
  if (field != nullptr) {
    std::from_chars(field + 1, text + size, started);  // stays 0 when there is no number
  }
  return started;
}

bool is_alive(const queue::WorkerIdentity& identity) noexcept {
  if (::kill(static_cast<pid_t>(identity.pid), 0) != 0 && errno == ESRCH) {
    return false;
  }
  const std::uint64_t started = start_time(identity.pid);
  return started == 0 || identity.started == 0 || started == identity.started;
}

ngx_shmtx_t* mutex_of(ngx_shm_zone_t* zone) noexcept {
  return &reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr)->mutex;
}

}  // namespace

queue::Nanos steady_clock_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return queue::Nanos{now.tv_sec} * queue::kSecond + now.tv_nsec;
}

QueueClient::Hold::Hold(QueueClient& client) noexcept : client_(client), now_(0) {
  ngx_shmtx_lock(mutex_of(client.conf_.zone));
  now_ = steady_clock_ns();  // after the wait for the lock, so that times of one queue never go back
  client.queue_.enter(static_cast<std::uint32_t>(ngx_pid), now_);
  if (client.joined_ && client.generation_ != client.queue_.generation()) {
    client.register_again(now_);
  }
}

QueueClient::Hold::~Hold() {
  std::array<Mailbox::Address, queue::kMaxWorkers> addresses;
  std::size_t count = 0;
  bool own = false;
  const queue::WorkerSet wakes = client_.queue_.take_wakes();
  if (wakes.any()) {
    for (std::uint32_t i = 0; i < queue::kMaxWorkers; ++i) {
      if (wakes.test(i)) {
        own = own || (client_.joined_ && i == client_.worker_);
        const auto identity = client_.queue_.worker(i);
        if (identity && (!client_.joined_ || i != client_.worker_)) {
          addresses[count++] = identity->mailbox;
        }
      }
    }
  }
  client_.needs_tick_ = client_.queue_.needs_tick();
  client_.queue_.leave();
  ngx_shmtx_unlock(mutex_of(client_.conf_.zone));
  for (std::size_t i = 0; i < count; ++i) {
    client_.mailbox_->wake(addresses[i]);  // one that is gone is found by the sweep
  }
  if (own) {
    QueueWorker::read_own_mail();
  }
  if (client_.needs_tick_) {
    QueueWorker::after_change(client_);
  }
}

bool QueueClient::join(const Mailbox& mailbox, std::uint64_t version) noexcept {
  mailbox_ = &mailbox;
  sweep();
  follow_limits(version);
  const Hold hold(*this);
  return enroll(hold);
}

bool QueueClient::enroll(const Hold& hold) noexcept {
  const auto worker = queue_.register_worker({ngx_pid, start_time(ngx_pid), mailbox_->address()});
  if (worker) {
    worker_ = *worker;
    generation_ = queue_.generation();
    queue_.registered(worker_, hold.now());
    joined_ = true;
  }
  return joined_;
}

bool QueueClient::enroll_again() noexcept {
  sweep();
  const Hold hold(*this);
  return enroll(hold);
}

void QueueClient::keep_joined() noexcept {
  if (joined_ && ngx_exiting != 0 && turns_ == nullptr) {
    leave();
  } else if (!joined_ && ngx_exiting == 0) {
    join(*mailbox_, version_);
  }
}

void QueueClient::leave() noexcept {
  if (joined_) {
    const Hold hold(*this);
    queue_.remove_worker(worker_, hold.now());
    joined_ = false;
  }
}

void QueueClient::register_again(queue::Nanos now) noexcept {
  generation_ = queue_.generation();
  for (Turn* turn = turns_; turn != nullptr; turn = turn->next) {
    queue::Held held;
    held.arrival = turn->arrival;
    held.running = turn->phase != Turn::Phase::waiting;
    held.arrived = turn->arrived;
    held.started = turn->started;
    turn->handle = queue_.register_again(held, now);
  }
  queue_.registered(worker_, now);
}

void QueueClient::acquire(Turn& turn) noexcept {
  turn.has_status = true;
  if (!joined_ && !enroll_again()) {
    turn.arrived = steady_clock_ns();
    refuse(turn, queue::Status::full, 1);
    return;
  }
  turn.arrival.worker = worker_;
  turn.arrival.token = ++tokens_;
  queue::Decision decision;
  {
    const Hold hold(*this);
    turn.arrived = hold.now();
    decision = queue_.acquire(turn.arrival, turn.arrived);
  }
  turn.handle = decision.handle;
  turn.debt = decision.debt;
  switch (decision.kind) {
    case queue::Decision::Kind::direct:
      turn.status = queue::Status::direct;
      turn.phase = Turn::Phase::running;
      turn.started = turn.arrived;
      link(turn);
      break;
    case queue::Decision::Kind::queued:
      turn.status = queue::Status::cancelled;  // until something better becomes of it
      turn.phase = Turn::Phase::waiting;
      link(turn);
      break;
    case queue::Decision::Kind::full:
      refuse(turn, queue::Status::full, decision.retry_after);
      break;
  }
}

void QueueClient::release(Turn& turn, const queue::Outcome& outcome) noexcept {
  unlink(turn);
  turn.phase = Turn::Phase::idle;
  const Hold hold(*this);
  turn.cost += queue_.release(turn.handle, outcome, hold.now()).value_or(0);
}

void QueueClient::cancel(Turn& turn) noexcept {
  unlink(turn);
  turn.phase = Turn::Phase::idle;
  queue::CancelResult result;
  queue::Nanos now = 0;
  {
    const Hold hold(*this);
    now = hold.now();
    result = queue_.cancel(turn.handle, now);
    if (result == queue::CancelResult::running) {
      queue_.release(turn.handle, {std::nullopt, true, false}, now);
    }
  }
  turn.waited = now - turn.arrived;
  turn.status = result == queue::CancelResult::evicted ? queue::Status::evicted : queue::Status::cancelled;
}

void QueueClient::time_out(Turn& turn) noexcept {
  queue::TimeoutResult result;
  {
    const Hold hold(*this);
    result = queue_.timeout(turn.handle, hold.now());
  }
  switch (result.kind) {
    case queue::TimeoutResult::Kind::granted:
      granted(turn, result.waited);
      break;
    case queue::TimeoutResult::Kind::evicted:
      unlink(turn);
      refuse(turn, queue::Status::evicted, result.retry_after);
      break;
    case queue::TimeoutResult::Kind::timed_out:
    case queue::TimeoutResult::Kind::unknown:
      unlink(turn);
      refuse(turn, queue::Status::timeout, result.retry_after);
      break;
  }
  turn.waited = result.waited;
}

void QueueClient::count_bypass() noexcept {
  const Hold hold(*this);
  queue_.count_bypass();
}

// A worker that is slow to start or to hear of a change, or waits for the last requests of an earlier nginx.conf, must not undo what others
// did.
void QueueClient::follow_limits(std::uint64_t version) noexcept {
  version_ = version;
  const LimitsStamp stamp{conf_.generation, version};
  const Hold hold(*this);
  if (stamp >= shared().limits && queue_.set_limits(conf_.limits, hold.now())) {
    shared().limits = stamp;
  }
}

void QueueClient::record(std::int64_t first, std::int64_t last) noexcept {
  const Hold hold(*this);
  const queue::Percentiles waits = queue_.wait_percentiles();
  const auto milliseconds = [](queue::Nanos time) { return static_cast<std::uint32_t>(time / queue::kMillisecond); };
  std::uint64_t answered = 0;
  for (const std::uint64_t count : queue_.totals().by_status) {
    answered += count;
  }
  for (std::int64_t second = first; second <= last; ++second) {
    shared().history.record(second, {queue_.running(), queue_.waiting(), milliseconds(waits.p50), milliseconds(waits.p90),
                                     milliseconds(waits.p99), static_cast<std::uint32_t>(answered)});
  }
}

void QueueClient::read_mail() noexcept {
  if (!joined_) {
    return;
  }
  std::array<queue::Mail, kMailBatch> batch;
  std::size_t count = 0;
  do {
    count = 0;
    {
      const Hold hold(*this);
      while (count < batch.size()) {
        const auto mail = queue_.next_mail(worker_, hold.now());
        if (!mail) {
          break;
        }
        batch[count++] = *mail;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      deliver(batch[i]);
    }
  } while (count == batch.size());
}

void QueueClient::deliver(const queue::Mail& mail) noexcept {
  for (Turn* turn = turns_; turn != nullptr; turn = turn->next) {
    if (turn->arrival.token == mail.token && turn->phase == Turn::Phase::waiting) {
      if (mail.kind == queue::Mail::Kind::granted) {
        turn->handle = mail.handle;
        granted(*turn, mail.waited);
      } else {
        unlink(*turn);
        refuse(*turn, queue::Status::evicted, mail.retry_after);
        turn->waited = mail.waited;
      }
      delete_timer(&turn->event);
      post(&turn->event);
      return;
    }
  }
  if (mail.kind == queue::Mail::Kind::granted) {  // its request is gone: the slot goes on
    const Hold hold(*this);
    queue_.release(mail.handle, {std::nullopt, true, false}, hold.now());
  }
}

void QueueClient::granted(Turn& turn, queue::Nanos waited) noexcept {
  turn.phase = Turn::Phase::running;
  turn.status = queue::Status::queued;
  turn.waited = waited;
  turn.started = turn.arrived + waited;
}

void QueueClient::refuse(Turn& turn, queue::Status status, std::uint32_t retry_after) noexcept {
  turn.phase = Turn::Phase::refused;
  turn.status = status;
  turn.retry_after = retry_after;
}

void QueueClient::tick() noexcept {
  const Hold hold(*this);
  queue_.tick(hold.now());
}

void QueueClient::sweep() noexcept {
  std::array<queue::WorkerIdentity, queue::kMaxWorkers> rows;
  {
    const Hold hold(*this);
    for (std::uint32_t i = 0; i < queue::kMaxWorkers; ++i) {
      rows[i] = queue_.worker(i).value_or(queue::WorkerIdentity{});
    }
  }
  for (std::uint32_t i = 0; i < queue::kMaxWorkers; ++i) {
    if (rows[i].pid == 0 || rows[i].pid == ngx_pid || is_alive(rows[i])) {
      continue;
    }
    const Hold hold(*this);
    if (const auto row = queue_.worker(i); row && row->pid == rows[i].pid && row->started == rows[i].started) {
      queue_.remove_worker(i, hold.now());
    }
  }
}

void QueueClient::link(Turn& turn) noexcept {
  turn.previous = nullptr;
  turn.next = turns_;
  if (turns_ != nullptr) {
    turns_->previous = &turn;
  }
  turns_ = &turn;
}

void QueueClient::unlink(Turn& turn) noexcept {
  if (turn.previous != nullptr) {
    turn.previous->next = turn.next;
  } else if (turns_ == &turn) {
    turns_ = turn.next;
  }
  if (turn.next != nullptr) {
    turn.next->previous = turn.previous;
  }
  turn.previous = nullptr;
  turn.next = nullptr;
}

}  // namespace fairway::ngx
