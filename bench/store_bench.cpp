// What a room costs a Valkey or Redis server: its CPU per poll, one call a poll against the batches of a gateway under load, and its
// memory per waiter. Starts a server of its own (STORE_BIN, redis-server by default). CPU is that of the server's process, with the
// network and the parsing, not only that of the script.
//
//   store_bench [waiting] [polls] [pairs]      100000 20000 7
//
// Prints a name and numbers a line: bytes_per_waiter; alone (us); batch_N (us, ratio to alone, medians of the pairs); load_N, the
// client with N polls under way (polls to a call, us, polls per second). bench/store.py makes the table.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../tests/store/driver.h"
#include "../tests/store/server.h"
#include "store/valkey/protocol.h"

namespace fairway::bench {
namespace {

using test::Connection;
using test::Driver;
using test::Server;

room::Settings settings() {
  room::Settings settings;
  settings.capacity = 0;
  settings.max_waiting = 10'000'000;
  settings.abandon_timeout = 3'600'000'000;
  return settings;
}

room::Operation operation(room::Kind kind, std::uint64_t visitor) {
  room::Operation operation;
  operation.kind = kind;
  const std::uint64_t mixed = (visitor + 1) * 0x9e3779b97f4a7c15;  // sids are random
  std::memcpy(operation.sid.bytes.data(), &mixed, sizeof mixed);
  std::memcpy(operation.sid.bytes.data() + 8, &visitor, sizeof visitor);
  operation.gap = 10'000'000;
  return operation;
}

// A number in the text of INFO.
double info(Connection& side, std::string_view section, std::string_view name) {
  const std::string text = side.command({"INFO", section}).text;
  const auto at = text.find(std::string("\n").append(name).append(":"));
  if (at == std::string::npos) throw std::runtime_error("the server does not tell " + std::string(name));
  return std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

double cpu(Connection& side) {
  return info(side, "cpu", "used_cpu_user") + info(side, "cpu", "used_cpu_sys");
}

class Room {
 public:
  explicit Room(const Server& server) : side_(server) {
    side_.command({"SCRIPT", "LOAD", valkey::script_text()});
    base_ = info(side_, "memory", "used_memory");
  }

  void fill(std::uint64_t waiting) {
    while (waiting_ < waiting) {
      std::vector<room::Operation> batch;
      while (batch.size() < valkey::kMaxOperations && waiting_ < waiting) batch.push_back(operation(room::Kind::enter, waiting_++));
      call(batch);
    }
  }
  double bytes_per_waiter() { return (info(side_, "memory", "used_memory") - base_) / static_cast<double>(waiting_); }

  // Server CPU in µs per poll, `batch` polls to a call, one call at a time.
  double poll_cost(std::size_t batch, std::size_t polls) {
    const double before = cpu(side_);
    for (std::size_t done = 0; done < polls; done += batch) {
      std::vector<room::Operation> operations;
      for (std::size_t i = 0; i < batch; ++i) operations.push_back(operation(room::Kind::poll, random_() % waiting_));
      call(operations);
    }
    return (cpu(side_) - before) * 1e6 / static_cast<double>(polls);
  }

  Connection& side() { return side_; }

 private:
  void call(const std::vector<room::Operation>& operations) {
    valkey::Request request;
    request.room = "sale";
    request.settings = settings();
    request.operations = operations;
    std::string bytes;
    valkey::append_call(bytes, request, false);
    const valkey::Value reply = std::move(side_.exchange(bytes, 1).front());
    valkey::Response response;
    if (!valkey::read_reply(reply, request, response)) throw std::runtime_error("no reply of the script: " + reply.text);
    for (const room::Answer& answer : response.answers) {
      if (answer.state != room::State::waiting) throw std::runtime_error("somebody does not wait");
    }
  }

  Connection side_;
  std::uint64_t waiting_ = 0;
  double base_ = 0;
  std::mt19937_64 random_{7};
};

// The client with so many polls always under way, as a gateway under load: how many operations share a call, the server's CPU per
// poll, and polls per second.
struct Loaded {
  double per_call;
  double cost;
  double rate;
};

Loaded poll_through_client(const Server& server, Room& room, std::uint64_t waiting, std::size_t under_way, std::size_t polls) {
  Driver driver({"unix:" + server.socket(), "timeout=10s"});
  driver.settings = settings();
  std::mt19937_64 random(11);
  std::size_t asked = 0;
  std::size_t answered = 0;
  const double before = cpu(room.side());
  const Micros start = Driver::now();
  const auto more = [&] {
    for (const auto& done : driver.take()) answered += done.outcome == valkey::Outcome::answered;
    for (; asked < polls && asked - answered < under_way; ++asked) driver.submit(asked, operation(room::Kind::poll, random() % waiting));
    return answered == polls;
  };
  if (!driver.run_until(more, 120'000'000)) throw std::runtime_error("polls were not answered");
  const double seconds = static_cast<double>(Driver::now() - start) / 1e6;
  return {static_cast<double>(polls) / static_cast<double>(driver.reports.size()),
          (cpu(room.side()) - before) * 1e6 / static_cast<double>(polls), static_cast<double>(polls) / seconds};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run(std::uint64_t waiting, std::size_t polls, int pairs) {
  Server server;
  Room room(server);
  room.fill(waiting);
  std::printf("bytes_per_waiter %.0f\n", room.bytes_per_waiter());
  const std::size_t batches[] = {8, 32, 128};
  std::vector<double> alone;
  std::vector<double> together[std::size(batches)];
  std::vector<double> ratios[std::size(batches)];
  for (int pair = 0; pair < pairs; ++pair) {
    alone.push_back(room.poll_cost(1, polls / 4));
    for (std::size_t i = 0; i < std::size(batches); ++i) {
      together[i].push_back(room.poll_cost(batches[i], polls));
      ratios[i].push_back(together[i].back() / alone.back());
    }
  }
  std::printf("alone %.2f\n", median(alone));
  for (std::size_t i = 0; i < std::size(batches); ++i) {
    std::printf("batch_%zu %.2f %.3f\n", batches[i], median(together[i]), median(ratios[i]));
  }
  for (const std::size_t under_way : {16UL, 64UL, 512UL}) {
    const Loaded loaded = poll_through_client(server, room, waiting, under_way, polls * 2);
    std::printf("load_%zu %.1f %.2f %.0f\n", under_way, loaded.per_call, loaded.cost, loaded.rate);
  }
}

}  // namespace
}  // namespace fairway::bench

int main(int count, char** words) {
  const auto word = [&](int i, long otherwise) { return count > i ? std::strtol(words[i], nullptr, 10) : otherwise; };
  fairway::bench::run(static_cast<std::uint64_t>(word(1, 100'000)), static_cast<std::size_t>(word(2, 20'000)),
                      static_cast<int>(word(3, 7)));
}
