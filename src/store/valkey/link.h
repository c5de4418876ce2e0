// One pipelined connection, without the connection: what to send and what came, as bytes. Greets the server (AUTH, SELECT, and
// ROLE where it must be the master), then matches replies to calls in order. TLS, sockets and timers belong to the owner.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "store/valkey/failure.h"
#include "store/valkey/resp.h"
#include "store/valkey/url.h"

namespace fairway::valkey {

class Link {
 public:
  using Id = std::uint64_t;  // never used twice by one Client
  enum class Purpose : std::uint8_t { data, sentinel };
  enum class State : std::uint8_t { connecting, greeting, ready };

  // `deadline`: when to give up if it is not ready by then.
  Link(Id id, Endpoint to, Purpose purpose, Micros deadline, const Config& config);

  Id id() const noexcept { return id_; }
  const Endpoint& to() const noexcept { return to_; }
  Purpose purpose() const noexcept { return purpose_; }
  State state() const noexcept { return state_; }
  bool ready() const noexcept { return state_ == State::ready; }
  Micros deadline() const noexcept { return deadline_; }
  bool idle() const noexcept { return expected_.empty(); }

  // The transport, with TLS if any, is up. A sentinel is asked at once, a data server greeted.
  void opened();

  // Puts a command behind those already sent; its reply comes with `tag`. Only when ready.
  void send(std::string_view command, std::uint32_t tag);
  // For a command that follows an ASK: the ASKING before it has a reply of its own, which is swallowed.
  void send_asking(std::string_view command, std::uint32_t tag);

  struct Reply {
    std::uint32_t tag = 0;
    Value value;
  };
  // Takes what came. Whole replies to calls go to `replies`. Anything but none: the link is of no more use; `message()` has the
  // server's words, if any.
  Failure receive(std::string_view bytes, std::vector<Reply>& replies);

  // Bytes for the transport; the owner takes them from the front.
  std::string& output() noexcept { return output_; }
  std::string_view message() const noexcept { return message_; }
  // Of a sentinel that answered: where the master is.
  const Endpoint& master() const noexcept { return master_; }

 private:
  enum class Expect : std::uint8_t { ok, role, master, asking, call };
  struct Expected {
    Expect what;
    std::uint32_t tag;
  };

  void command(std::initializer_list<std::string_view> words, Expect what);
  void authenticate();
  Failure take(Value& value, std::vector<Reply>& replies);
  Failure take_error(Expect what, const Value& value);
  Failure take_master(const Value& value);

  Id id_;
  Endpoint to_;
  Purpose purpose_;
  Micros deadline_;
  const Config& config_;
  State state_ = State::connecting;
  bool authenticated_ = false;
  std::deque<Expected> expected_;
  ReplyReader reader_;
  std::string output_;
  std::string message_;
  Endpoint master_;
};

// host:port as MOVED, ASK and sentinels give it: IPv6 without brackets, the port after the last colon; an empty host means the
// one of `asked`. False when it is none.
bool parse_address(std::string_view text, const Endpoint& asked, Endpoint& out);

}  // namespace fairway::valkey
