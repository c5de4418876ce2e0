#include "sim/queue_sim.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <stdexcept>

namespace fairway::sim {
namespace {

using namespace queue;  // NOLINT: one half of this file speaks of nothing else

struct FreeBlock {
  void operator()(void* block) const noexcept { ::operator delete (block, std::align_val_t{64}); }
};

struct SessionState {
  std::size_t group = 0;
  std::uint32_t network = 0;
  std::uint64_t key = 0;
  std::uint32_t sent_with_key = 0;
  std::uint32_t parts_left = 0;
  std::uint32_t busy = 0;  // connections with a request, refused ones that will come again included
  Nanos page_began = 0;
  Nanos slot_time = 0;
  std::uint32_t first_connection = 0;
};

struct Connection {
  std::size_t session = 0;
  std::uint32_t worker = 0;
  std::uint32_t sent = 0;
  std::uint32_t serial = 0;  // of the request under way
  Handle handle = 0;
  Nanos first_sent = 0;  // of a request that may have been refused in between
  Nanos sent_at = 0;
  Nanos started = 0;
  Nanos service = 0;
  std::uint32_t refusals = 0;
  bool served = false;
};

struct Event {
  enum class Kind : std::uint8_t { send, finish, timeout, mail, tick };
  Nanos at = 0;
  std::uint64_t order = 0;
  Kind kind = Kind::send;
  std::uint32_t subject = 0;  // connection or worker
  std::uint32_t serial = 0;   // of the request, for events that a request may outrun

  bool operator>(const Event& other) const noexcept { return at != other.at ? at > other.at : order > other.order; }
};

class Simulation {
 public:
  Simulation(const Settings& settings, const std::vector<Clients>& clients);
  Report run();

 private:
  void add_group(std::size_t group);
  void handle(const Event& event);
  void send(std::uint32_t connection);
  void start(std::uint32_t connection);
  void finish(std::uint32_t connection);
  void refused(std::uint32_t connection, std::uint32_t retry_after);
  void next(std::uint32_t connection);
  void next_part(std::uint32_t connection);
  void read_mail(std::uint32_t worker);
  void after_call();
  void account(const Connection& c);
  FlowKeys keys_of(SessionState& s);
  Nanos draw(Range range);
  void post(Nanos at, Event::Kind kind, std::uint32_t subject, std::uint32_t serial = 0);
  const Clients& group_of(const Connection& c) const { return clients_[sessions_[c.session].group]; }
  Outcome& outcome_of(const Connection& c) { return report_.groups[sessions_[c.session].group]; }
  bool counts(const Connection& c) const { return c.sent_at >= settings_.warm_up; }
  Nanos end_of(const Clients& g) const { return g.end == 0 ? settings_.length : g.end; }

  const Settings settings_;
  const std::vector<Clients> clients_;
  std::unique_ptr<void, FreeBlock> block_;
  std::optional<FairQueue> queue_;
  std::mt19937_64 random_;
  std::vector<SessionState> sessions_;
  std::vector<Connection> connections_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t posted_ = 0;
  Nanos now_ = 0;
  bool ticking_ = false;
  std::uint32_t fresh_network_ = 1U << 20;
  Report report_;
};

// Networks are numbers; as addresses they are distinct /24s below 0.0.0.0/0.
OuterKey network_key(std::uint32_t number) noexcept {
  const std::array<std::uint8_t, 4> bytes{static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8),
                                          static_cast<std::uint8_t>(number), 0};
  return outer_key(ClientAddress::v4(bytes), 24, 56);
}

Simulation::Simulation(const Settings& settings, const std::vector<Clients>& clients)
    : settings_(settings), clients_(clients), random_(settings.seed) {
  const std::size_t size = FairQueue::bytes_for(settings.capacity);
  block_.reset(::operator new (size, std::align_val_t{64}));
  queue_ = FairQueue::create(block_.get(), size, settings.capacity, settings.limits, {random_(), random_()});
  if (!queue_) throw std::invalid_argument("limits beyond the capacity");
  for (std::uint32_t i = 0; i < settings.workers; ++i) queue_->register_worker({.pid = i + 1});
  for (std::size_t i = 0; i < clients_.size(); ++i) add_group(i);
}

void Simulation::add_group(std::size_t group) {
  const Clients& g = clients_[group];
  Outcome outcome;
  outcome.name = g.name;
  outcome.slot_time_by_window.resize(static_cast<std::size_t>(settings_.length / settings_.window) + 1);
  report_.groups.push_back(outcome);
  for (std::uint32_t i = 0; i < g.networks * g.sessions; ++i) {
    SessionState s{.group = group, .network = g.first_network + i / g.sessions, .key = random_()};
    s.first_connection = static_cast<std::uint32_t>(connections_.size());
    const Nanos page = draw(g.begin);
    for (std::uint32_t k = 0; k < g.connections; ++k) {
      const auto index = static_cast<std::uint32_t>(connections_.size());
      connections_.push_back({.session = sessions_.size(), .worker = g.worker.value_or(index % settings_.workers)});
      post(g.parts != 0 ? page : draw(g.begin), Event::Kind::send, index);
    }
    s.parts_left = g.parts;
    s.page_began = page;
    sessions_.push_back(s);
  }
}

Nanos Simulation::draw(Range range) {
  return std::uniform_int_distribution<Nanos>(range.low, std::max(range.low, range.high))(random_);
}

void Simulation::post(Nanos at, Event::Kind kind, std::uint32_t subject, std::uint32_t serial) {
  events_.push({at, posted_++, kind, subject, serial});
}

Report Simulation::run() {
  while (!events_.empty() && events_.top().at < settings_.length) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    queue_->enter(1, now_);
    handle(event);
    after_call();
    queue_->leave();
  }
  for (const Connection& c : connections_) {
    if (c.started != 0 && c.handle != 0) account(c);  // still running
    if (!c.served) ++outcome_of(c).unserved;
  }
  for (const SessionState& s : sessions_) report_.groups[s.group].slot_time_by_session.push_back(s.slot_time);
  return report_;
}

void Simulation::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::send:
      send(event.subject);
      break;
    case Event::Kind::finish:
      finish(event.subject);
      break;
    case Event::Kind::mail:
      read_mail(event.subject);
      break;
    case Event::Kind::tick:
      ticking_ = false;
      queue_->tick(now_);
      break;
    case Event::Kind::timeout: {
      const Connection& c = connections_[event.subject];
      if (c.serial != event.serial || c.handle == 0) break;
      const TimeoutResult result = queue_->timeout(c.handle, now_);
      if (result.kind == TimeoutResult::Kind::granted) start(event.subject);
      if (result.kind != TimeoutResult::Kind::timed_out) break;
      if (counts(c)) ++outcome_of(c).timed_out;
      refused(event.subject, result.retry_after);
      break;
    }
  }
}

FlowKeys Simulation::keys_of(SessionState& s) {
  const Clients& g = clients_[s.group];
  const std::uint32_t used = s.sent_with_key++;
  if (g.keys == Clients::Keys::per_request) s.key = random_();
  if (g.keys == Clients::Keys::per_network) {
    s.key = random_();
    s.network = fresh_network_++;
  }
  if (g.keys == Clients::Keys::per_pair && used > g.pair_length) {
    s.key = random_();
    s.sent_with_key = 1;
  }
  return {queue_->hash_key(), network_key(s.network), s.key};
}

void Simulation::send(std::uint32_t index) {
  Connection& c = connections_[index];
  SessionState& s = sessions_[c.session];
  const Clients& g = group_of(c);
  if (now_ >= end_of(g)) return;
  if (g.parts != 0 && c.refusals == 0) {
    if (s.parts_left == 0) return;
    --s.parts_left;
  }
  if (c.refusals == 0) ++s.busy;
  ++c.serial;
  c.sent_at = now_;
  c.started = 0;
  const FlowKeys keys = keys_of(s);
  c.service = g.keys == Clients::Keys::per_pair && s.sent_with_key == 1 ? kMillisecond : draw(g.service);
  const Decision decision = queue_->acquire({c.worker, index, keys, g.cost_class}, now_);
  c.handle = decision.handle;
  Outcome& outcome = outcome_of(c);
  if (counts(c)) ++outcome.sent;
  if (c.refusals == 1) ++outcome.first_retries;
  if (decision.kind == Decision::Kind::direct) start(index);
  if (decision.kind == Decision::Kind::queued) post(now_ + settings_.limits.timeout, Event::Kind::timeout, index, c.serial);
  if (decision.kind == Decision::Kind::full) {
    if (counts(c)) ++outcome.full;
    refused(index, decision.retry_after);
  }
}

void Simulation::start(std::uint32_t index) {
  Connection& c = connections_[index];
  c.started = now_;
  if (counts(c)) outcome_of(c).waits.push_back(now_ - c.sent_at);
  post(now_ + c.service, Event::Kind::finish, index);
}

void Simulation::finish(std::uint32_t index) {
  Connection& c = connections_[index];
  const Clients& g = group_of(c);
  queue::Outcome outcome;
  if (g.reported != 0) outcome.cost = static_cast<Nanos>(static_cast<double>(c.service) * g.reported);
  queue_->release(c.handle, outcome, now_);
  account(c);
  if (counts(c)) ++outcome_of(c).served;
  c.handle = 0;
  c.served = true;
  c.refusals = 0;
  --sessions_[c.session].busy;
  next(index);
}

// Slot time of a request that ran until now.
void Simulation::account(const Connection& c) {
  Outcome& outcome = outcome_of(c);
  const Nanos counted = std::max<Nanos>(0, now_ - std::max(c.started, settings_.warm_up));
  outcome.slot_time += counted;
  report_.slot_time += counted;
  sessions_[c.session].slot_time += counted;
  for (Nanos from = c.started; from < now_;) {
    const auto window = static_cast<std::size_t>(from / settings_.window);
    const Nanos until = std::min(now_, static_cast<Nanos>(window + 1) * settings_.window);
    outcome.slot_time_by_window[window] += until - from;
    from = until;
  }
}

void Simulation::refused(std::uint32_t index, std::uint32_t retry_after) {
  Connection& c = connections_[index];
  const Clients& g = group_of(c);
  c.handle = 0;
  if (c.refusals == 1) ++outcome_of(c).first_retries_refused;
  if (g.give_up) {
    --sessions_[c.session].busy;
    next(index);
    return;
  }
  ++c.refusals;
  post(now_ + (g.obeys ? retry_after * kSecond : std::max(draw(g.pause), kMillisecond)), Event::Kind::send, index);
}

void Simulation::next(std::uint32_t index) {
  Connection& c = connections_[index];
  const Clients& g = group_of(c);
  if (g.parts != 0) {
    next_part(index);
    return;
  }
  ++c.sent;
  if (g.requests == 0 || c.sent < g.requests) post(now_ + draw(g.think), Event::Kind::send, index);
}

void Simulation::next_part(std::uint32_t index) {
  SessionState& s = sessions_[connections_[index].session];
  const Clients& g = clients_[s.group];
  if (s.parts_left != 0) {
    post(now_, Event::Kind::send, index);
    return;
  }
  if (s.busy != 0) return;
  if (s.page_began >= settings_.warm_up) report_.groups[s.group].pages.push_back(now_ - s.page_began);
  s.page_began = now_ + draw(g.think);
  s.parts_left = g.parts;
  for (std::uint32_t k = 0; k < g.connections; ++k) post(s.page_began, Event::Kind::send, s.first_connection + k);
}

void Simulation::read_mail(std::uint32_t worker) {
  while (const auto mail = queue_->next_mail(worker, now_)) {
    const auto index = static_cast<std::uint32_t>(mail->token);
    if (mail->kind == Mail::Kind::granted) {
      start(index);
      continue;
    }
    if (counts(connections_[index])) ++outcome_of(connections_[index]).evicted;
    refused(index, mail->retry_after);
  }
}

void Simulation::after_call() {
  report_.most_running = std::max(report_.most_running, queue_->running());
  report_.most_waiting = std::max(report_.most_waiting, queue_->waiting());
  const WorkerSet wakes = queue_->take_wakes();
  for (std::uint32_t worker = 0; worker < settings_.workers; ++worker) {
    if (!wakes.test(worker)) continue;
    if (settings_.wake_delay != 0) {
      post(now_ + settings_.wake_delay, Event::Kind::mail, worker);
    } else {
      read_mail(worker);
    }
  }
  if (ticking_ || !queue_->needs_tick()) return;
  ticking_ = true;
  post(now_ + kTickPeriod, Event::Kind::tick, 0);
}

}  // namespace

Report simulate(const Settings& settings, const std::vector<Clients>& clients) {
  return Simulation(settings, clients).run();
}

}  // namespace fairway::sim
