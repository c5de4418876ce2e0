#include "driver.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace fairway::test {
namespace {

valkey::Config config_of(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string error;
  auto config = valkey::parse_config(views, error);
  if (!config) throw std::runtime_error(error);
  return *config;
}

int start_connect(const valkey::Endpoint& to) {
  const bool local = !to.path.empty();
  const int socket = ::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int result = -1;
  if (local) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, to.path.c_str(), sizeof address.sun_path - 1);
    result = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(to.port);
    ::inet_pton(AF_INET, to.host == "localhost" ? "127.0.0.1" : to.host.c_str(), &address.sin_addr);
    result = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  if (result == 0 || errno == EINPROGRESS) return socket;
  ::close(socket);
  return -1;
}

}  // namespace

Driver::Driver(const std::vector<std::string>& words, std::string room)
    : room_(std::move(room)), config_(config_of(words)), client_(config_, breaker, *this, static_cast<std::uint64_t>(now())) {
  settings.capacity = 10;
}

Driver::~Driver() {
  for (const auto& [id, socket] : sockets_) ::close(socket);
}

Micros Driver::now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

valkey::Rooms::View Driver::view(valkey::RoomId) {
  room::Memory told = memory;
  told.outage_ended = told_outage != breaker.outages();
  return {room_, settings, told, 0};
}

void Driver::submit(std::uint64_t id, room::Kind kind, std::uint64_t visitor, std::uint64_t epoch, std::uint64_t number) {
  room::Operation operation;
  operation.kind = kind;
  for (std::size_t i = 0; i < 8; ++i) operation.sid.bytes[8 + i] = static_cast<std::uint8_t>(visitor >> (56 - 8 * i));
  operation.epoch = epoch;
  operation.number = number;
  submit(id, operation);
}

valkey::Completion Driver::ask(room::Kind kind, std::uint64_t visitor, std::uint64_t epoch, std::uint64_t number) {
  const std::uint64_t id = ++last_id_;
  submit(id, kind, visitor, epoch, number);
  const auto mine = [&] { return std::ranges::find_if(completions_, [id](const valkey::Completion& done) { return done.id == id; }); };
  if (!run_until([&] { return mine() != completions_.end(); })) throw std::runtime_error("an operation was never answered");
  const valkey::Completion done = *mine();
  completions_.erase(mine());
  return done;
}

bool Driver::run_until(const std::function<bool()>& done, Micros patience) {
  const Micros give_up = now() + patience;
  for (;;) {
    client_.advance(now());
    conform();
    collect();
    if (done()) return true;
    if (now() >= give_up) return false;
    client_.advance(now());  // with what done() may have submitted
    conform();
    const Micros deadline = client_.deadline();
    const Micros wait = std::min(deadline == 0 ? Micros{20'000} : deadline - now(), Micros{20'000});
    carry(static_cast<int>((std::max<Micros>(0, wait) + 999) / 1000));
  }
}

void Driver::collect() {
  for (valkey::Completion& each : client_.take_completions()) completions_.push_back(each);
  for (valkey::Report& report : client_.take_reports()) {
    if (report.outcome == valkey::Outcome::answered) {
      const room::Summary& s = report.response.summary;
      memory = {s.epoch, s.version, s.last_number, s.inside, s.waiting, false};
      told_outage = report.outage;
    }
    reports.push_back(std::move(report));
  }
}

// Connections as the client wants them, and what it has to say.
void Driver::conform() {
  std::vector<valkey::Link::Id> refused;
  for (const auto& link : client_.links()) {
    auto found = sockets_.find(link->id());
    if (found == sockets_.end()) {
      const int socket = start_connect(link->to());
      if (socket < 0) {
        refused.push_back(link->id());
        continue;
      }
      found = sockets_.emplace(link->id(), socket).first;
    }
    std::string& output = link->output();
    if (output.empty()) continue;
    const ssize_t sent = ::send(found->second, output.data(), output.size(), MSG_NOSIGNAL);
    if (sent > 0) output.erase(0, static_cast<std::size_t>(sent));
  }
  for (auto each = sockets_.begin(); each != sockets_.end();) {
    const bool wanted = std::ranges::any_of(client_.links(), [&](const auto& link) { return link->id() == each->first; });
    if (!wanted) {
      ::close(each->second);
      connected_.erase(each->first);
    }
    each = wanted ? std::next(each) : sockets_.erase(each);
  }
  for (const valkey::Link::Id id : refused) client_.closed(id, now());
}

void Driver::carry(int wait_ms) {
  std::vector<pollfd> polls;
  std::vector<valkey::Link::Id> ids;
  for (const auto& [id, socket] : sockets_) {
    bool wants_out = !connected_[id];
    for (const auto& link : client_.links()) wants_out = wants_out || (link->id() == id && !link->output().empty());
    polls.push_back({socket, static_cast<short>(wants_out ? POLLIN | POLLOUT : POLLIN), 0});
    ids.push_back(id);
  }
  ::poll(polls.data(), polls.size(), wait_ms);
  for (std::size_t i = 0; i < polls.size(); ++i) {
    if (polls[i].revents == 0) continue;
    if (!connected_[ids[i]]) {
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(polls[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) {
        client_.closed(ids[i], now());
        continue;
      }
      connected_[ids[i]] = true;
      client_.opened(ids[i]);
    }
    std::array<char, 16384> buffer;
    const ssize_t got = ::recv(polls[i].fd, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      client_.received(ids[i], {buffer.data(), static_cast<std::size_t>(got)}, now());
    } else if (got == 0 || errno != EAGAIN) {
      client_.closed(ids[i], now());
    }
  }
}

}  // namespace fairway::test
