#include "sim/queue_replay.h"

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

namespace fairway::sim {

namespace {

constexpr std::size_t kSessions = 4096;
constexpr std::size_t kNetworks = 1024;
constexpr SipKey kKey{0x6661697277617921U, 0x7265706c6179U};  // a replay is the same each time
constexpr Nanos kBegin = 3'600 * queue::kSecond;              // a queue's clock is not near 0

struct FreeBlock {
  void operator()(void* block) const noexcept { ::operator delete (block, std::align_val_t{64}); }
};

}  // namespace

// One order.
class QueueReplay::Run {
 public:
  struct Subject {
    std::uint64_t number = 0;
    Nanos arrived = 0;
    Nanos service = 0;
    FlowKeys keys;
    ClientTable::Ref session, network;
  };

  Run(queue::Limits limits, const queue::Capacity& capacity, queue::Order order, QueueReplay& replay, Watch watch);

  void arrive(const Subject& subject);
  // Everything that happens before `now`.
  void advance(Nanos now);
  OrderReport& report() noexcept { return report_; }

 private:
  enum class What : std::uint8_t { finish, timeout, tick };
  struct Event {
    Nanos at = 0;
    std::uint64_t order = 0;
    What what = What::tick;
    std::uint32_t place = 0;
    std::uint64_t number = 0;

    bool operator>(const Event& other) const noexcept { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Held {
    Subject subject;
    queue::Handle handle = 0;
    bool running = false;
  };

  void handle(const Event& event);
  void start(std::uint32_t place, Nanos now);
  void refuse(std::uint32_t place, std::uint64_t& count, Nanos now);
  void after_call(Nanos now);
  void post(Nanos at, What what, std::uint32_t place = 0, std::uint64_t number = 0) { events_.push({at, posted_++, what, place, number}); }
  Fate& session_fate(const Subject& s) { return replay_.sessions_.fate(s.session, index_); }
  Fate& network_fate(const Subject& s) { return replay_.networks_.fate(s.network, index_); }

  queue::Order order_;
  std::size_t index_;
  QueueReplay& replay_;
  Watch watch_;
  std::unique_ptr<void, FreeBlock> block_;
  std::optional<FairQueue> queue_;
  std::vector<Held> held_;
  std::vector<std::uint32_t> free_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t posted_ = 0;
  bool ticking_ = false;
  OrderReport report_;
};

QueueReplay::Run::Run(queue::Limits limits, const queue::Capacity& capacity, queue::Order order, QueueReplay& replay, Watch watch)
    : order_(order), index_(order == queue::Order::fifo ? 0 : 1), replay_(replay), watch_(std::move(watch)) {
  limits.order = order;
  const std::size_t size = FairQueue::bytes_for(capacity);
  block_.reset(::operator new (size, std::align_val_t{64}));
  queue_ = FairQueue::create(block_.get(), size, capacity, limits, kKey);
  if (!queue_) throw std::invalid_argument("limits beyond the capacity");
  queue_->register_worker({.pid = 1});
}

void QueueReplay::Run::advance(Nanos now) {
  while (!events_.empty() && events_.top().at <= now) {
    const Event event = events_.top();
    events_.pop();
    queue_->enter(1, event.at);
    handle(event);
    after_call(event.at);
    queue_->leave();
  }
}

void QueueReplay::Run::arrive(const Subject& subject) {
  const Nanos now = subject.arrived;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(held_.size()));
    held_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  held_[place] = {subject, 0, false};
  queue_->enter(1, now);
  const queue::Decision decision = queue_->acquire({0, place, subject.keys, 0}, now);
  held_[place].handle = decision.handle;
  if (decision.kind == queue::Decision::Kind::direct) start(place, now);
  if (decision.kind == queue::Decision::Kind::queued) post(now + queue_->limits().timeout, What::timeout, place, subject.number);
  if (decision.kind == queue::Decision::Kind::full) refuse(place, report_.full, now);
  after_call(now);
  queue_->leave();
}

void QueueReplay::Run::handle(const Event& event) {
  if (event.what == What::tick) {
    ticking_ = false;
    queue_->tick(event.at);
    return;
  }
  Held& held = held_[event.place];
  if (held.handle == 0 || held.subject.number != event.number) return;
  if (event.what == What::finish) {
    queue_->release(held.handle, {}, event.at);
    held.handle = 0;
    free_.push_back(event.place);
    return;
  }
  if (held.running) return;
  const queue::TimeoutResult result = queue_->timeout(held.handle, event.at);
  if (result.kind == queue::TimeoutResult::Kind::granted) start(event.place, event.at);
  if (result.kind == queue::TimeoutResult::Kind::timed_out) refuse(event.place, report_.timed_out, event.at);
}

void QueueReplay::Run::start(std::uint32_t place, Nanos now) {
  Held& held = held_[place];
  const Subject& subject = held.subject;
  held.running = true;
  const Nanos waited = now - subject.arrived;
  report_.waits.add(waited / 1000);
  session_fate(subject).waits.add(waited / 1000);
  network_fate(subject).waits.add(waited / 1000);
  if (watch_) watch_(order_, subject.number, true, waited);
  post(now + subject.service, What::finish, place, subject.number);
}

void QueueReplay::Run::refuse(std::uint32_t place, std::uint64_t& count, Nanos now) {
  Held& held = held_[place];
  ++count;
  ++session_fate(held.subject).refused;
  ++network_fate(held.subject).refused;
  if (watch_) watch_(order_, held.subject.number, false, now - held.subject.arrived);
  held.handle = 0;
  free_.push_back(place);
}

void QueueReplay::Run::after_call(Nanos now) {
  report_.most_running = std::max(report_.most_running, queue_->running());
  report_.most_waiting = std::max(report_.most_waiting, queue_->waiting());
  queue_->take_wakes();
  while (const auto mail = queue_->next_mail(0, now)) {
    const auto place = static_cast<std::uint32_t>(mail->token);
    mail->kind == queue::Mail::Kind::granted ? start(place, now) : refuse(place, report_.evicted, now);
  }
  if (ticking_ || !queue_->needs_tick()) return;
  ticking_ = true;
  post(now + queue::kTickPeriod, What::tick);
}

QueueReplay::QueueReplay(const queue::Limits& limits, const queue::Capacity& capacity, Watch watch)
    : sessions_(kSessions), networks_(kNetworks) {
  runs_[0] = std::make_unique<Run>(limits, capacity, queue::Order::fifo, *this, watch);
  runs_[1] = std::make_unique<Run>(limits, capacity, queue::Order::fair, *this, std::move(watch));
}

QueueReplay::~QueueReplay() = default;

void QueueReplay::add(const PastRequest& request) {
  Nanos start = request.start;
  if (report_.requests == 0) report_.first = report_.last = start;
  if (start < report_.last) {
    ++report_.disordered;
    start = report_.last;
  }
  report_.last = start;
  const double seconds = static_cast<double>(request.service) / queue::kSecond;
  report_.service += seconds;
  const ClientKey network{request.client.network, 0};
  const Run::Subject subject{report_.requests++,
                             kBegin + start - report_.first,
                             request.service,
                             {kKey, request.client.network, request.client.session},
                             sessions_.note(request.client, seconds),
                             networks_.note(network, seconds)};
  for (const auto& run : runs_) {
    run->advance(subject.arrived);
    run->arrive(subject);
  }
}

namespace {

std::vector<ClientRecord> by_cost(const ClientTable& table) {
  std::vector<ClientRecord> records = table.records();
  std::ranges::stable_sort(records, [](const auto& a, const auto& b) { return a.surely() > b.surely(); });
  return records;
}

void keep_first(std::vector<ClientRecord>& records, std::size_t most) {
  if (records.size() > most) records.resize(most);
}

}  // namespace

ReplayReport QueueReplay::finish(std::size_t top) {
  for (const auto& run : runs_) run->advance(std::numeric_limits<Nanos>::max());
  report_.fifo = std::move(runs_[0]->report());
  report_.fair = std::move(runs_[1]->report());
  report_.sessions = by_cost(sessions_);
  report_.networks = by_cost(networks_);
  report_.clients = report_.sessions.size() + sessions_.forgotten();
  const double mean = report_.service / static_cast<double>(std::max<std::uint64_t>(report_.clients, 1));
  for (const ClientRecord& record : report_.sessions) {
    const bool heavy = record.surely() > mean;
    (heavy ? report_.fifo.heavy : report_.fifo.light).add(record.fates[0]);
    (heavy ? report_.fair.heavy : report_.fair.light).add(record.fates[1]);
    report_.heavy_clients += heavy;
    if (heavy) report_.heavy_service += record.surely();
  }
  report_.fifo.light.add(sessions_.others()[0]);
  report_.fair.light.add(sessions_.others()[1]);
  keep_first(report_.sessions, top);
  keep_first(report_.networks, top);
  return std::move(report_);
}

}  // namespace fairway::sim
