// Drives the client of the Valkey store over real sockets, as the gateway does over nginx's: connections made true to links(), bytes
// carried, time from a steady clock.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/valkey/client.h"

namespace fairway::test {

class Driver final : public valkey::Rooms {
 public:
  explicit Driver(const std::vector<std::string>& words, std::string room = "sale");
  ~Driver() override;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  static Micros now();

  // Runs one operation to its end.
  valkey::Completion ask(room::Kind kind, std::uint64_t visitor, std::uint64_t epoch = 0, std::uint64_t number = 0);
  void submit(std::uint64_t id, const room::Operation& operation) { client_.submit(id, 0, operation, now()); }
  void submit(std::uint64_t id, room::Kind kind, std::uint64_t visitor, std::uint64_t epoch = 0, std::uint64_t number = 0);
  // Runs until `done` or for `patience`; whether it became true.
  bool run_until(const std::function<bool()>& done, Micros patience = 10'000'000);
  std::vector<valkey::Completion> take() { return std::exchange(completions_, {}); }
  const std::vector<valkey::Completion>& completions() const { return completions_; }

  View view(valkey::RoomId) override;

  room::Settings settings;
  room::Memory memory;            // learned from each answered call
  std::uint64_t told_outage = 0;  // as a gateway keeps it
  std::vector<valkey::Report> reports;
  valkey::Breaker breaker;

 private:
  void conform();
  void collect();
  void carry(int wait_ms);

  std::string room_;
  valkey::Config config_;
  valkey::Client client_;
  std::map<valkey::Link::Id, int> sockets_;
  std::map<valkey::Link::Id, bool> connected_;
  std::vector<valkey::Completion> completions_;
  std::uint64_t last_id_ = 1'000'000;
};

}  // namespace fairway::test
