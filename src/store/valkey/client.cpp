#include "store/valkey/client.h"

#include <algorithm>
#include <utility>

#include "store/valkey/protocol.h"

namespace fairway::valkey {
namespace {

constexpr unsigned kMaxRedirects = 5;

}  // namespace

Client::Client(const Config& config, Breaker& breaker, Rooms& rooms, std::uint64_t seed)
    : config_(config), breaker_(breaker), rooms_(rooms), router_(config, seed) {}

Micros Client::Line::deadline() const noexcept {
  if (assembled) return call_deadline;
  if (queue.empty()) return refresh_by;
  return refresh_by == 0 ? queue.front().deadline : std::min(refresh_by, queue.front().deadline);
}

void Client::submit(std::uint64_t id, RoomId room, const room::Operation& operation, Micros now) {
  lines_[room].queue.push_back({id, now + config_.timeout, operation, {}, 0, {}});
}

void Client::cut(std::uint64_t id, RoomId room, const room::Cut& cut, Micros now) {
  lines_[room].queue.push_back({id, now + config_.timeout, {}, cut, 0, {}});
}

void Client::go_on(std::uint64_t id, RoomId room, std::uint64_t cut_id, Micros now) {
  lines_[room].queue.push_back({id, now + config_.timeout, {}, {}, cut_id, {}});
}

void Client::settings(std::uint64_t id, SettingsRequest request, Micros now) {
  lines_[kSettings].queue.push_back({id, now + config_.timeout, {}, {}, 0, std::make_shared<const SettingsRequest>(std::move(request))});
}

void Client::refresh(RoomId room, Micros now) {
  Line& line = lines_[room];
  if (line.refresh_by == 0) line.refresh_by = now + config_.timeout;
}

void Client::opened(Link::Id id) {
  if (Link* link = router_.by_id(id)) link->opened();
}

void Client::closed(Link::Id id, Micros now) {
  lose(router_.drop(id, Failure::transport, now), Failure::transport, now);
}

void Client::received(Link::Id id, std::string_view bytes, Micros now) {
  Link* link = router_.by_id(id);
  if (link == nullptr) return;
  std::vector<Link::Reply> replies;
  Failure failure = link->receive(bytes, replies);
  // All whole replies count, also those before garbage and those behind an error that costs the link.
  for (const Link::Reply& reply : replies) {
    const auto found = lines_.find(reply.tag);
    if (found == lines_.end() || found->second.phase != Phase::sent || found->second.link != id) continue;
    const Failure refused = take_reply(found->first, found->second, reply.value, now);
    if (failure == Failure::none) failure = refused;
  }
  if (failure != Failure::none) {
    lose(router_.drop(id, failure, now), failure, now);
  } else if (link->purpose() == Link::Purpose::sentinel && link->ready()) {
    router_.found_master(id, now);
  }
}

void Client::advance(Micros now) {
  while (const Link* late = router_.late(now)) lose(router_.drop(late->id(), Failure::timeout, now), Failure::timeout, now);
  for (auto& [id, line] : lines_) expire(id, line, now);
  if (router_.take_reconnect(now) && !breaker_.open()) router_.find(std::nullopt, now);
  for (auto& [id, line] : lines_) step(id, line, now);
}

// Nobody waits longer than the timeout, whatever the reason.
void Client::expire(RoomId id, Line& line, Micros now) {
  const Micros deadline = line.deadline();
  if (deadline == 0 || now < deadline) return;
  if (line.phase == Phase::sent) lose(router_.drop(line.link, Failure::timeout, now), Failure::timeout, now);
  if (line.phase == Phase::routing) lose(router_.give_up(line.target(), now), Failure::timeout, now);
  if (line.deadline() != 0 && now >= line.deadline()) fail(id, line, Failure::timeout, {}, now);
}

void Client::step(RoomId id, Line& line, Micros now) {
  if (line.phase == Phase::parked && now >= line.retry_at) line.phase = Phase::routing;
  if (line.phase == Phase::idle && (!line.queue.empty() || line.refresh_by != 0) && !begin(line, now)) refuse(id, line);
  // Another worker may have noticed a failure meanwhile: what is not begun is not begun now.
  if (line.permit.probe == 0 || line.assembled) {
    if (breaker_.refuses(now)) refuse(id, line);
  }
  if (line.phase == Phase::routing) transmit(id, line, now);
}

bool Client::begin(Line& line, Micros now) {
  line.permit = breaker_.ask(now, 2 * config_.timeout);
  if (!line.permit.allowed) return false;
  line.phase = Phase::routing;
  line.begun = now;
  line.redirects = 0;
  line.whole_script = false;
  line.retry.reset();
  return true;
}

// Fixes which operations the call carries.
void Client::assemble(Line& line) {
  line.call_deadline = line.deadline();
  line.assembled = true;
  line.refreshing = line.refresh_by != 0;
  line.refresh_by = 0;
  line.request.cut.reset();
  line.request.cut_id = 0;
  while (!line.queue.empty() && line.operations.size() < kMaxOperations) {
    const Pending& next = line.queue.front();
    if (next.settings && !line.current.empty()) return;
    if (next.orders_cut()) {
      if (line.request.cut || line.request.cut_id != 0) return;
      line.request.cut = next.cut;
      line.request.cut_id = next.cut_id;
    } else if (!next.settings) {
      line.operations.push_back(next.operation);
    }
    line.current.push_back(next);
    line.queue.pop_front();
  }
}

void Client::transmit(RoomId id, Line& line, Micros now) {
  Link* link = router_.find(line.target(), now);
  if (link == nullptr) return;
  if (!line.assembled) assemble(line);
  std::string command;
  append(command, id, line);
  if (line.ask) {
    link->send_asking(command, id);
  } else {
    link->send(command, id);
  }
  line.ask.reset();
  line.link = link->id();
  line.phase = Phase::sent;
}

void Client::append(std::string& command, RoomId id, Line& line) {
  if (id == kSettings) {
    append_settings_call(command, *line.current.front().settings, line.whole_script);
    return;
  }
  const Rooms::View view = rooms_.view(id);
  line.request.room = view.name;
  line.request.settings = view.settings;
  line.request.memory = view.memory;
  line.request.operations = line.operations;
  line.request.changes_since = line.refreshing ? std::optional(view.changes_since) : std::nullopt;
  append_call(command, line.request, line.whole_script);
}

Failure Client::take_reply(RoomId id, Line& line, const Value& value, Micros now) {
  if (value.type == Value::Type::error) return take_error(id, line, value, now);
  if (id == kSettings) return take_settings(line, value, now);
  Response response;
  if (!read_reply(value, line.request, response)) return Failure::protocol;
  finish(id, line, Outcome::answered, std::move(response), now);
  return Failure::none;
}

Failure Client::take_error(RoomId id, Line& line, const Value& value, Micros now) {
  const Failure failure = classify(value.text);
  switch (failure) {
    case Failure::no_script:
      if (line.whole_script) return Failure::error;
      line.whole_script = true;
      line.phase = Phase::routing;
      return Failure::none;
    case Failure::moved:
    case Failure::ask:
      return redirect(line, value, failure == Failure::moved);
    case Failure::try_again:
      line.retry_at = now + line.retry.next(router_.jitter());
      line.redirects = 0;  // each try may be sent on to where the slot goes; the timeout bounds the tries
      line.phase = Phase::parked;
      return Failure::none;
    case Failure::out_of_memory:
      if (id == kSettings) {
        finish_settings(line, Outcome::no_memory, {}, now);
      } else {
        finish(id, line, Outcome::no_memory, {}, now);
      }
      return Failure::none;
    case Failure::error:
    case Failure::no_auth:
    case Failure::cluster_down:
      if (id != kSettings) return failure;
      // It is about these keys; whoever asks for a room finds out for himself.
      fail(id, line, failure, std::string(router_.by_id(line.link)->message()), now);
      return Failure::none;
    default:
      return failure;
  }
}

// "MOVED 3999 host:port", "ASK 3999 host:port".
Failure Client::redirect(Line& line, const Value& value, bool for_good) {
  const Link* link = router_.by_id(line.link);
  const auto space = value.text.rfind(' ');
  Endpoint target;
  if (link == nullptr || !parse_address(std::string_view(value.text).substr(space + 1), link->to(), target)) return Failure::protocol;
  if (++line.redirects > kMaxRedirects) return Failure::redirects;
  (for_good ? line.route : line.ask) = target;
  line.phase = Phase::routing;
  return Failure::none;
}

void Client::finish(RoomId id, Line& line, Outcome outcome, Response response, Micros now) {
  breaker_.succeeded(line.permit);
  router_.confirm();
  response.answers.resize(line.operations.size());
  auto answer = response.answers.begin();
  for (const Pending& pending : line.current) {
    Completion& done = completions_.emplace_back(Completion{pending.id, id, outcome, {}, {}, response.summary, {}});
    if (pending.orders_cut()) {
      done.cut = response.cut;
    } else {
      done.answer = *answer++;
    }
  }
  response.answers.clear();
  // Work was left: at once again, with whoever came meanwhile.
  if (response.summary.more_work && line.refresh_by == 0) line.refresh_by = now + config_.timeout;
  reports_.push_back(
      {id, outcome, Failure::none, std::move(response), line.refreshing, line.permit.outage, line.operations.size(), now - line.begun, {}});
  line.reset();
}

Failure Client::take_settings(Line& line, const Value& value, Micros now) {
  auto reply = std::make_shared<SettingsReply>();
  if (!read_settings_reply(value, *reply)) return Failure::protocol;
  finish_settings(line, Outcome::answered, std::move(reply), now);
  return Failure::none;
}

void Client::finish_settings(Line& line, Outcome outcome, std::shared_ptr<const SettingsReply> reply, Micros now) {
  breaker_.succeeded(line.permit);
  router_.confirm();
  completions_.push_back({line.current.front().id, kSettings, outcome, {}, {}, {}, std::move(reply)});
  reports_.push_back({kSettings, outcome, Failure::none, {}, false, line.permit.outage, 0, now - line.begun, {}});
  line.reset();
}

void Client::fail(RoomId id, Line& line, Failure failure, const std::string& message, Micros now) {
  // Without a permit nothing was begun: this worker was late, not the store.
  if (line.permit.allowed && (id != kSettings || line.permit.probe != 0)) breaker_.failed(line.permit, now, pause());
  reports_.push_back(
      {id, Outcome::failed, failure, {}, line.refreshing, line.permit.outage, line.operations.size(), now - line.begun, message});
  for (const Pending& pending : line.current) complete(id, pending, Outcome::failed);
  for (const Pending& pending : line.queue) complete(id, pending, Outcome::failed);
  line.queue.clear();
  line.refresh_by = 0;
  line.reset();
}

void Client::Line::reset() noexcept {
  current.clear();
  operations.clear();
  assembled = false;
  refreshing = false;
  permit = {};
  ask.reset();
  phase = Phase::idle;
}

// Those for whom no call was begun.
void Client::refuse(RoomId id, Line& line) {
  for (const Pending& pending : line.queue) complete(id, pending, Outcome::refused);
  line.queue.clear();
  line.refresh_by = 0;
  if (!line.assembled) line.reset();
}

void Client::lose(const Router::Loss& loss, Failure failure, Micros now) {
  bool noticed = false;
  for (auto& [id, line] : lines_) {
    const Route& target = line.target();
    const bool waits = line.phase == Phase::routing && (target ? target == loss.route : loss.store);
    const bool hit = (line.phase == Phase::sent && line.link == loss.link) || waits;
    if (line.route && line.route == loss.route) line.route.reset();
    if (!hit || loss.harmless) continue;
    fail(id, line, failure, loss.message, now);
    noticed = noticed || id != kSettings;
  }
  // A connection that was to be ready before anybody needs it failed: that is noticed too.
  if (!loss.store || loss.harmless || noticed || breaker_.open()) return;
  breaker_.failed({true, 0, breaker_.outages()}, now, pause());
  Report& report = reports_.emplace_back();
  report.failure = failure;
  report.message = loss.message;
}

void Client::complete(RoomId id, const Pending& pending, Outcome outcome) {
  completions_.push_back({pending.id, id, outcome, {}, {}, {}, {}});
}

// Gateways that noticed the same failure do not all probe at the same moment.
Micros Client::pause() {
  return config_.breaker + router_.jitter().between(0, config_.breaker / 10);
}

std::vector<Completion> Client::take_completions() {
  return std::exchange(completions_, {});
}
std::vector<Report> Client::take_reports() {
  return std::exchange(reports_, {});
}

Micros Client::deadline() const noexcept {
  Micros earliest = router_.deadline();
  const auto consider = [&earliest](Micros moment) {
    if (moment != 0 && (earliest == 0 || moment < earliest)) earliest = moment;
  };
  for (const auto& [id, line] : lines_) {
    consider(line.deadline());
    if (line.phase == Phase::parked) consider(line.retry_at);
  }
  return earliest;
}

}  // namespace fairway::valkey
