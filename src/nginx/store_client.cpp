#include "nginx/store_client.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "nginx/worker.h"

namespace fairway::ngx {

namespace {

constexpr std::size_t kMaxOwed = 10'000;  // releases kept for a store that is away
constexpr int kRounds = 8;                // of connecting anew at once, when each attempt fails at once

Micros steady_clock_us() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Micros{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

bool reached(const valkey::Completion& completion) noexcept {
  return completion.outcome == valkey::Outcome::answered || completion.outcome == valkey::Outcome::no_memory;
}

}  // namespace

StoreClient::StoreClient(ngx_cycle_t* cycle, const MainConf& conf, Worker& worker, std::uint64_t seed)
    : conf_(conf), worker_(worker), seed_(seed), log_(*cycle->log) {
  log_.log_level = NGX_LOG_ALERT;
  connection_.fd = static_cast<ngx_socket_t>(-1);
  for (ngx_event_t* event : {&soon_, &timer_}) {
    event->handler = on_event;
    event->data = &connection_;
    event->log = cycle->log;
  }
  connection_.data = this;
}

StoreClient::~StoreClient() {
  delete_timer(&timer_);
  unpost(&soon_);
}

valkey::RoomId StoreClient::id_of(const RoomConf& room) {
  if (room.index >= rooms_.size()) {
    rooms_.resize(room.index + 1);
  }
  rooms_[room.index] = &room;
  return static_cast<valkey::RoomId>(room.index);
}

void StoreClient::need_client() {
  if (client_ == nullptr) {
    client_ = std::make_unique<valkey::Client>(conf_.store->config, worker_.shared().breaker, static_cast<valkey::Rooms&>(*this), seed_++);
  }
}

// What needs memory and did not get it leaves the state machine in no certain state: it starts anew, those who wait are told.
template <class Run>
void StoreClient::guarded(Run run) noexcept {
  try {
    need_client();
    run();
  } catch (...) {
    start_over();
  }
}

void StoreClient::start_over() noexcept {
  for (auto& [id, socket] : sockets_) {
    socket.close();
  }
  dead_.merge(sockets_);
  client_ = nullptr;
  releases_.clear();
  const std::unordered_map<Ticket, Asker*> left = std::exchange(askers_, {});
  for (const auto& [ticket, asker] : left) {
    asker->answered({ticket, 0, valkey::Outcome::failed, {}, {}, {}});
  }
}

template <class Submit>
StoreClient::Ticket StoreClient::submit(Asker& asker, Submit submit) noexcept {
  Ticket ticket = ++last_ticket_;
  try {
    need_client();
    askers_[ticket] = &asker;
    submit(ticket);
  } catch (...) {
    askers_.erase(ticket);
    ticket = 0;
  }
  post(&soon_);
  return ticket;
}

StoreClient::Ticket StoreClient::ask(Asker& asker, const RoomConf& room, const room::Operation& operation) noexcept {
  return submit(asker, [&](Ticket ticket) { client_->submit(ticket, id_of(room), operation, steady_clock_us()); });
}

StoreClient::Ticket StoreClient::cut(Asker& asker, const RoomConf& room, const room::Cut& cut) noexcept {
  return submit(asker, [&](Ticket ticket) { client_->cut(ticket, id_of(room), cut, steady_clock_us()); });
}

StoreClient::Ticket StoreClient::go_on(Asker& asker, const RoomConf& room, std::uint64_t cut_id) noexcept {
  return submit(asker, [&](Ticket ticket) { client_->go_on(ticket, id_of(room), cut_id, steady_clock_us()); });
}

StoreClient::Ticket StoreClient::settings(Asker& asker, valkey::SettingsRequest request) noexcept {
  return submit(asker, [&](Ticket ticket) { client_->settings(ticket, std::move(request), steady_clock_us()); });
}

void StoreClient::release(const RoomConf& room, const room::Operation& operation) noexcept {
  guarded([&] {
    const Ticket ticket = ++last_ticket_;
    releases_[ticket] = {id_of(room), operation};
    client_->submit(ticket, id_of(room), operation, steady_clock_us());
  });
  post(&soon_);
}

void StoreClient::refresh(const RoomConf& room) noexcept {
  guarded([&] { client_->refresh(id_of(room), steady_clock_us()); });
  post(&soon_);
}

void StoreClient::tick() noexcept {
  if (worker_.shared().breaker.refuses(steady_clock_us())) {
    return;
  }
  for (std::size_t left = owed_.size(); left > 0; --left) {
    const Release owed = owed_.front();
    owed_.pop_front();
    release(room(owed.room), owed.operation);
  }
}

valkey::Rooms::View StoreClient::view(valkey::RoomId id) {
  const RoomConf& conf = room(id);
  const RoomRow& row = worker_.row(conf);
  View view{fairway::ngx::view(conf.name), conf.settings, row.memory(), row.changes_since.load(std::memory_order_relaxed)};
  view.memory.outage_ended = row.told_outage.load(std::memory_order_relaxed) != worker_.shared().breaker.outages();
  return view;
}

void StoreClient::opened(valkey::Link::Id id) noexcept {
  guarded([&] { client_->opened(id); });
  post(&soon_);
}

bool StoreClient::received(valkey::Link::Id id, std::string_view bytes) noexcept {
  bool wanted = false;
  guarded([&] {
    client_->received(id, bytes, steady_clock_us());
    wanted = std::ranges::any_of(client_->links(), [id](const auto& link) { return link->id() == id; });
  });
  post(&soon_);
  return wanted;
}

void StoreClient::writable() noexcept {
  post(&soon_);
}

void StoreClient::closed(valkey::Link::Id id, std::string_view why) noexcept {
  guarded([&] {
    trouble_ = why;
    client_->closed(id, steady_clock_us());
  });
  post(&soon_);
}

void StoreClient::exiting() noexcept {
  post(&soon_);
}

void StoreClient::on_event(ngx_event_t* event) noexcept {
  static_cast<StoreClient*>(static_cast<ngx_connection_t*>(event->data)->data)->run();
}

void StoreClient::run() noexcept {
  dead_.clear();
  guarded([this] {
    client_->advance(steady_clock_us());
    conform();
    take_notes();
    hand_out();
  });
  if (ngx_exiting != 0 && idle()) {  // an old worker lives on for its clients' sake, the store need not see it any more
    sockets_.clear();
    client_ = nullptr;
  }
  for (auto& [id, socket] : sockets_) {
    socket.set_idle(idle());
  }
  set_timer();
}

// Makes the connections what the client wants them to be, and sends what it has to say.
void StoreClient::conform() {
  for (int round = 0; round < kRounds; ++round) {
    std::vector<valkey::Link::Id> broken;
    for (const auto& link : client_->links()) {
      const auto [place, fresh] = sockets_.try_emplace(link->id(), static_cast<Owner&>(*this), *conf_.store, *link, &log_);
      StoreSocket& socket = place->second;
      if ((fresh && !socket.connect()) || !socket.send(link->output())) {
        trouble_ = socket.why();
        broken.push_back(link->id());
      }
    }
    for (const valkey::Link::Id id : broken) {
      client_->closed(id, steady_clock_us());
    }
    std::erase_if(sockets_, [this](const auto& socket) {
      return std::ranges::none_of(client_->links(), [&socket](const auto& link) { return link->id() == socket.first; });
    });
    if (broken.empty()) {
      return;
    }
    client_->advance(steady_clock_us());
  }
  post(&soon_);
}

void StoreClient::hand_out() {
  for (const valkey::Completion& completion : client_->take_completions()) {
    if (const auto release = releases_.find(completion.id); release != releases_.end()) {
      if (!reached(completion)) {
        owed_.push_back(release->second);
        if (owed_.size() > kMaxOwed) {
          owed_.pop_front();
        }
      }
      releases_.erase(release);
      continue;
    }
    const auto asker = askers_.find(completion.id);
    if (asker == askers_.end()) {
      continue;  // withdrawn, maybe just now, by the end of another one
    }
    Asker& told = *asker->second;
    askers_.erase(asker);
    told.answered(completion);
  }
}

void StoreClient::take_notes() {
  for (const valkey::Report& report : client_->take_reports()) {
    note(report);
  }
}

void StoreClient::note(const valkey::Report& report) {
  if (report.room != valkey::kSettings) {
    worker_.shared().store_stats.count(report);
  }
  if (report.outcome == valkey::Outcome::failed) {
    const std::string_view name = valkey::to_string(report.failure);
    const std::string words =
        std::string(name) + (report.message.empty() ? trouble_.empty() ? "" : ", " + trouble_ : ", " + report.message);
    worker_.log_store_down(words);
    if (report.room == valkey::kSettings && !worker_.shared().breaker.open()) {
      worker_.log_not_shared(words);
    }
    return;
  }
  worker_.log_store_back();
  if (report.room == valkey::kSettings) {
    if (report.outcome == valkey::Outcome::no_memory) {
      worker_.log_not_shared("the store is at its maxmemory");
    }
    return;
  }
  const RoomConf& conf = room(report.room);
  if (report.outcome == valkey::Outcome::no_memory) {
    worker_.log_full(conf);
    return;
  }
  worker_.learn(conf, report.response.summary, report.outage);
  if (report.refreshed) {
    note_changes(conf, report.response);
  }
}

// Who was ended elsewhere is refused here from now on.
void StoreClient::note_changes(const RoomConf& conf, const valkey::Response& response) {
  RoomRow& row = worker_.row(conf);
  std::uint64_t known = row.changes_since.load(std::memory_order_relaxed);
  if (response.summary.version < known) {
    known = 0;  // another life of the room, which counts anew
  }
  for (const room::Ended& ended : response.ended) {
    worker_.end_session(conf, ended.sid);
    known = std::max(known, ended.version);
  }
  for (const room::CutNotice& cut : response.cuts) {
    worker_.note_cut(conf, cut);
  }
  row.changes_since.store(response.more_changes ? known : std::max(known, response.summary.version), std::memory_order_relaxed);
  if (response.more_changes) {
    refresh(conf);
  }
}

void StoreClient::set_timer() noexcept {
  delete_timer(&timer_);
  const Micros deadline = client_ == nullptr ? 0 : client_->deadline();
  if (deadline != 0) {
    timer_.cancelable = idle() ? 1 : 0;  // somebody waits for an answer: an exiting worker stays until it is there
    add_timer(&timer_, static_cast<ngx_msec_t>(std::max<Micros>(0, deadline - steady_clock_us()) / 1'000 + 1));
  }
}

}  // namespace fairway::ngx
