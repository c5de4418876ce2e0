// What one worker of a gateway asks of the store, as a pure state machine: operations and bytes in, bytes and answers out, time
// passed in. While one call of a room is under way its later operations gather, and the next call carries them all; when nothing
// is under way nothing waits. Every operation is answered exactly once, at most `timeout` after it was submitted.
//
// How to drive it: after any of submit, refresh, opened, received, closed, or when `deadline()` is reached, call `advance(now)`
// once (a batch of events first is better: what was submitted meanwhile shares a call); then
//   - make connections true to `links()`: connect what has no socket (with TLS when Config::tls), close what is no longer listed,
//     write and erase the front of each link's output();
//   - take_completions() and take_reports(); set a timer to deadline().
// `now` is µs of a steady clock shared by the workers. Not for two threads at once.
//
// An operation whose outcome is unknown (timeout, closed connection) counts as failed; asking again is safe, since the store
// finds a session by its sid and never makes a second place for it.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/room.h"
#include "store/valkey/breaker.h"
#include "store/valkey/protocol.h"
#include "store/valkey/router.h"
#include "store/valkey/settings_call.h"

namespace fairway::valkey {

using RoomId = std::uint32_t;  // the owner's number for a room
// In place of a room: the settings that gateways share. Their calls wait for no room's and no room's for theirs, and a server that will
// not have them is no outage.
inline constexpr RoomId kSettings = std::numeric_limits<RoomId>::max();

// What a call says of its room; asked for when a call is written, so it is never stale.
class Rooms {
 public:
  struct View {
    std::string_view name;
    room::Settings settings;
    room::Memory memory;              // outage_ended: Breaker::outages() differs from the `outage` of the room's last answered call
    std::uint64_t changes_since = 0;  // the version up to which the owner knows who was ended
  };
  virtual ~Rooms() = default;
  virtual View view(RoomId room) = 0;
};

enum class Outcome : std::uint8_t {
  answered,
  no_memory,  // the store has no memory left: busy; nothing was changed
  refused,    // the breaker is open: no call was made for this operation
  failed,     // outcome unknown or refused by the store
};

struct Completion {
  std::uint64_t id = 0;
  RoomId room = 0;
  Outcome outcome = Outcome::failed;
  // Of answered:
  room::Answer answer;
  room::CutStatus cut;
  room::Summary summary;
  std::shared_ptr<const SettingsReply> settings;  // of kSettings
};

// One for each call, for metrics, the log and what the gateway remembers of a room; and one, of no room and no operations, for a connection
// that failed before any call needed it, if that began an outage.
struct Report {
  RoomId room = 0;
  Outcome outcome = Outcome::failed;
  Failure failure = Failure::none;
  Response response;         // of answered; without the answers, which the completions have
  bool refreshed = false;    // it carried a refresh: response has the changes since View::changes_since
  std::uint64_t outage = 0;  // Breaker::outages() when the call was begun
  std::size_t operations = 0;
  Micros took = 0;      // since it was begun
  std::string message;  // the store's words when it failed, if any; fit for a log
};

class Client {
 public:
  // `seed`: random, different in each worker. `config`, `breaker` and `rooms` must outlive the client.
  Client(const Config& config, Breaker& breaker, Rooms& rooms, std::uint64_t seed);

  // `id`: the owner's name for the caller. An owner that lost interest ignores the completion.
  void submit(std::uint64_t id, RoomId room, const room::Operation& operation, Micros now);
  // Asks for counts, housekeeping and who was ended, with the next call of the room. Once a second for each room.
  void refresh(RoomId room, Micros now);
  // Makes a cut, or goes on with an earlier one until its status is done.
  void cut(std::uint64_t id, RoomId room, const room::Cut& cut, Micros now);
  void go_on(std::uint64_t id, RoomId room, std::uint64_t cut_id, Micros now);

  // One call of its own. `request.keys` and the like are sent as they are now.
  void settings(std::uint64_t id, SettingsRequest request, Micros now);

  void opened(Link::Id id);
  void received(Link::Id id, std::string_view bytes, Micros now);
  // Refused, reset or closed by the other side. The owner's own closing of an unlisted link needs no call.
  void closed(Link::Id id, Micros now);

  void advance(Micros now);

  const std::vector<std::unique_ptr<Link>>& links() const noexcept { return router_.links(); }
  std::vector<Completion> take_completions();
  std::vector<Report> take_reports();
  // When advance must be called even if nothing happens; 0: not before something does.
  Micros deadline() const noexcept;

 private:
  struct Pending {
    std::uint64_t id;
    Micros deadline;
    room::Operation operation;
    std::optional<room::Cut> cut;  // these two: no operation, but an order for a cut
    std::uint64_t cut_id = 0;
    std::shared_ptr<const SettingsRequest> settings;  // or this, in the line of kSettings

    bool orders_cut() const noexcept { return cut.has_value() || cut_id != 0; }
  };
  enum class Phase : std::uint8_t {
    idle,
    routing,  // a call is wanted, its link may not be ready
    sent,
    parked,  // told to try again a little later
  };
  // One room: the operations that wait, and the one call under way with those it carries.
  struct Line {
    std::deque<Pending> queue;
    Micros refresh_by = 0;  // not 0: a call is wanted by then even without operations
    Phase phase = Phase::idle;
    std::vector<Pending> current;  // with one order for a cut at most
    std::vector<room::Operation> operations;
    Request request;          // as it was sent last
    bool assembled = false;   // `current` is fixed: the call was sent at least once
    bool refreshing = false;  // it carries a refresh
    bool whole_script = false;
    unsigned redirects = 0;
    Breaker::Permit permit;
    Micros begun = 0;
    Micros call_deadline = 0;
    Micros retry_at = 0;
    Backoff retry{5'000, 40'000};
    Route route;  // where the room was last found, in a cluster
    Route ask;    // where the next try goes, once
    Link::Id link = 0;

    Micros deadline() const noexcept;
    const Route& target() const noexcept { return ask ? ask : route; }
    void reset() noexcept;  // no call is under way
  };

  void expire(RoomId id, Line& line, Micros now);
  void step(RoomId id, Line& line, Micros now);
  bool begin(Line& line, Micros now);
  void assemble(Line& line);
  void transmit(RoomId id, Line& line, Micros now);
  void append(std::string& command, RoomId id, Line& line);
  Failure take_reply(RoomId id, Line& line, const Value& value, Micros now);
  Failure take_error(RoomId id, Line& line, const Value& value, Micros now);
  Failure redirect(Line& line, const Value& value, bool for_good);
  void finish(RoomId id, Line& line, Outcome outcome, Response response, Micros now);
  Failure take_settings(Line& line, const Value& value, Micros now);
  void finish_settings(Line& line, Outcome outcome, std::shared_ptr<const SettingsReply> reply, Micros now);
  void fail(RoomId id, Line& line, Failure failure, const std::string& message, Micros now);
  void refuse(RoomId id, Line& line);
  void lose(const Router::Loss& loss, Failure failure, Micros now);
  void complete(RoomId id, const Pending& pending, Outcome outcome);
  Micros pause();

  const Config& config_;
  Breaker& breaker_;
  Rooms& rooms_;
  Router router_;
  std::map<RoomId, Line> lines_;
  std::vector<Completion> completions_;
  std::vector<Report> reports_;
};

}  // namespace fairway::valkey
