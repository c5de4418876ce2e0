// The API's eviction: sessions inside, and with `line` places in line, ended by name, by network, or all.
#include <memory>

#include "nginx/api.h"
#include "operate/network.h"

namespace fairway::ngx {

namespace {

// The list of ended sessions is saved, the store's memory is not; but the list is bounded. Beyond this many, whoever was evicted and still
// has a ticket would come back into the line at the old number after a restart of a gateway with the memory store.
constexpr std::size_t kMostNoted = 16'384;

struct Wanted {
  bool line = false;
  bool one = false;
  Sid sid;
  Network network;
  std::string said;  // of the network; empty: all
};

constexpr const char* kOneOf =
    R"(Say one of {"sid": "32 hex digits"}, {"network": "203.0.113.0/24"} or {"all": true}, with "line": true if wanted.)";

Wanted read(const Json& body) {
  Wanted wanted;
  int targets = 0;
  for (const auto& [name, value] : body.items()) {
    if (name == "line" && value.is_boolean()) {
      wanted.line = value.get<bool>();
    } else if (name == "all" && value.is_boolean() && value.get<bool>()) {
      ++targets;
    } else if (name == "sid" && value.is_string() && Sid::from_hex(value.get<std::string>(), wanted.sid)) {
      wanted.one = true;
      ++targets;
    } else if (name == "network" && value.is_string()) {
      wanted.said = value.get<std::string>();
      const auto network = operate::parse_network(wanted.said);
      if (!network) {
        throw Refusal{422, "\"network\" must be a /24 of IPv4 or a /48 of IPv6, such as 203.0.113.0/24 or 2001:db8:1::/48.", name};
      }
      wanted.network = *network;
      ++targets;
    } else {
      throw Refusal{422, kOneOf, name};
    }
  }
  if (targets != 1) {
    throw Refusal{422, kOneOf, ""};
  }
  return wanted;
}

void note(ApiCall& call, const std::string& what) noexcept {
  const std::string from = call.from();
  const Lock lock(call.worker.zone());
  call.worker.shared().board->events.add(ngx_time(), what, from);
}

Json result(std::uint64_t ended) {
  return {{"ended", ended}};
}

ApiAnswer evict_one(ApiCall& call, const RoomConf& room, const Wanted& wanted) {
  ApiAnswer answer;
  const bool ended = call.worker.evict(room, wanted.sid, wanted.line);
  answer.json = result(ended ? 1 : 0);
  if (ended) {
    note(call, "room " + std::string(call.name) + ": one session ended");
  }
  return answer;
}

// Whoever calls is refused from the first step on; the answer waits until everybody has been counted.
ApiAnswer evict_many(ApiCall& call, const RoomConf& room, const Wanted& wanted) {
  const std::uint64_t id = call.worker.cut(room, {wanted.network, wanted.line}).id;
  if (id == 0) {
    throw Refusal{409, "Too many evictions of this room are under way: try again in a moment.", ""};
  }
  ApiAnswer answer;
  answer.go_on = [call, &room, id, wanted, since = id - 1, noted = std::size_t{0}](ApiAnswer& later) mutable {
    const room::CutStatus status = call.worker.go_on(room, id);
    if (status.id != 0 && !status.done) {
      return false;
    }
    if (noted < kMostNoted && !call.worker.note_ended(room, since)) {
      noted += 256;
      return false;
    }
    later.json = result(status.ended);
    note(call, "room " + std::string(view(room.name)) + ": " + std::to_string(status.ended) + " sessions ended, " +
                   (wanted.said.empty() ? "everybody" : "network " + wanted.said) + (wanted.line ? " inside and in line" : " inside"));
    return true;
  };
  return answer;
}

}  // namespace

ApiAnswer evict(ApiCall& call) {
  const RoomConf& room = call.room();
  const Wanted wanted = read(call.body);
  if (call.worker.row(room).memory().epoch == 0) {  // nobody has come yet
    ApiAnswer answer;
    answer.json = result(0);
    return answer;
  }
  return wanted.one ? evict_one(call, room, wanted) : evict_many(call, room, wanted);
}

}  // namespace fairway::ngx
