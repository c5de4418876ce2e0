// A client of the Valkey store with a scripted other side: tests read the commands it sent and answer as a server would.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "store/valkey/client.h"

namespace fairway::valkey::test {

inline constexpr Micros kTimeout = 250'000;  // the default

inline Config config_of(std::vector<std::string_view> words) {
  std::string error;
  return parse_config(words, error).value();
}

inline Sid sid_of(std::uint8_t n) {
  Sid sid;
  sid.bytes.fill(n);
  return sid;
}

inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

// What the script answers to a call with so many operations: all of them admitted, with number 100 + place in the call.
inline std::string script_reply(std::size_t operations, bool more_work = false) {
  std::string out = "*" + std::to_string(12 + 8 * operations) + "\r\n";
  for (const std::uint64_t n : {1'000'000U, 50U, 7U, 99U, 3U, 1U, 6U, 2U, 10U, 4U, 0U}) out += ":" + std::to_string(n) + "\r\n";
  out += more_work ? ":1\r\n" : ":0\r\n";
  for (std::size_t i = 0; i < operations; ++i) {
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{0}, std::size_t{0}, std::size_t{0}, std::size_t{50}, 100 + i, std::size_t{9}, std::size_t{8}}) {
      out += ":" + std::to_string(n) + "\r\n";
    }
  }
  return out;
}

inline std::string script_reply(std::size_t operations, bool more_work, bool changes, bool cut) {
  std::string out = script_reply(operations, more_work);
  const std::size_t fields = 12 + 8 * operations + (changes ? 3 : 0) + (cut ? 3 : 0);
  out.replace(0, out.find('\r'), "*" + std::to_string(fields));
  if (changes) out += ":0\r\n:0\r\n:0\r\n";
  if (cut) out += ":8\r\n:40\r\n:0\r\n";
  return out;
}

struct Command {
  std::vector<std::string> words;
  const std::string& name() const { return words[0]; }
  bool is_call() const { return name() == "EVALSHA" || name() == "EVAL"; }
  // Of a call: how many operations it carries, and its room's first key. Behind the keys: 12 settings, 6 memory, 3 changes, 4 cut.
  std::size_t operations() const { return std::stoul(words.at(3 + std::stoul(words.at(2)) + 25)); }
  const std::string& first_key() const { return words.at(3); }
  bool wants_changes() const { return words.at(3 + 8 + 18) == "1"; }
  bool orders_cut() const { return !words.at(3 + 8 + 21).empty(); }
};

class Rig : public Rooms {
 public:
  explicit Rig(std::vector<std::string_view> words) : config(config_of(std::move(words))), client(config, breaker, *this, 42) {}

  View view(RoomId room) override {
    ++views;
    return {room == 0 ? "sale" : "other", {}, memory, 5};
  }

  void submit(std::uint64_t id, RoomId room = 0) {
    room::Operation operation;
    operation.sid = sid_of(static_cast<std::uint8_t>(id));
    client.submit(id, room, operation, now);
  }
  void advance(Micros by = 0) {
    now += by;
    client.advance(now);
  }

  // The only link, or the one to `port`.
  Link* link(std::uint16_t port = 0) {
    for (const auto& each : client.links()) {
      if (port == 0 || each->to().port == port) return each.get();
    }
    return nullptr;
  }
  // Connects everything that is on its way.
  void open_all() {
    std::vector<Link::Id> ids;
    for (const auto& each : client.links()) ids.push_back(each->id());
    for (const Link::Id id : ids) client.opened(id);
    advance();
  }
  // What was sent on the link since the last time.
  std::vector<Command> sent(std::uint16_t port = 0) {
    Link* from = link(port);
    return from == nullptr ? std::vector<Command>{} : sent_by(*from);
  }
  std::vector<Command> sent_by(Link& from) {
    ReplyReader& reader = readers_[from.id()];
    reader.feed(from.output());
    from.output().clear();
    std::vector<Command> commands;
    for (Value value; reader.next(value) == ReplyReader::Status::value;) {
      Command& command = commands.emplace_back();
      for (Value& word : value.items) command.words.push_back(std::move(word.text));
    }
    return commands;
  }
  void answer(std::string_view bytes, std::uint16_t port = 0) {
    client.received(link(port)->id(), bytes, now);
    advance();
  }
  void close(std::uint16_t port = 0) {
    client.closed(link(port)->id(), now);
    advance();
  }

  static std::string good_reply(const Command& command) {
    return script_reply(command.operations(), false, command.wants_changes(), command.orders_cut());
  }

  // Outcomes by caller since the last time; a caller answered twice shows as an entry of its own.
  std::multimap<std::uint64_t, Outcome> outcomes() {
    std::multimap<std::uint64_t, Outcome> out;
    for (const Completion& done : client.take_completions()) out.emplace(done.id, done.outcome);
    return out;
  }

  Config config;
  Breaker breaker;
  room::Memory memory;
  int views = 0;
  Micros now = 1'000'000;
  Client client;

 private:
  std::map<Link::Id, ReplyReader> readers_;
};

inline std::vector<std::string> names(const std::vector<Command>& commands) {
  std::vector<std::string> out;
  out.reserve(commands.size());
  for (const Command& command : commands) out.push_back(command.name());
  return out;
}

using Names = std::vector<std::string>;

using Outcomes = std::multimap<std::uint64_t, Outcome>;

// A client of one server.
class ReadyRig : public testing::Test {
 protected:
  // A client with a connection that is up, and nothing under way.
  void make_ready() {
    rig.client.refresh(0, rig.now);
    rig.advance();
    rig.open_all();
    ASSERT_EQ(rig.sent().size(), 1U);
    rig.answer(refresh_reply());
    ASSERT_EQ(rig.client.take_reports().size(), 1U);
  }
  static std::string refresh_reply() { return script_reply(0, false, true, false); }

  Rig rig{{"valkey://one"}};
};

}  // namespace fairway::valkey::test
