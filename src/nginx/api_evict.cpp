// The API's eviction: sessions inside, and with `line` places in line, ended by name, by network, or all.
#include <memory>

#include "nginx/api.h"
#include "nginx/store_order.h"
#include "operate/network.h"

namespace fairway::ngx {

namespace {

// The list of ended sessions is saved, the memory store is not; but the list is bounded. Beyond this many, whoever was evicted and still
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
  std::string last = "all";
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
    last = name == "line" ? last : name;
  }
  if (targets != 1) {
    throw Refusal{422, kOneOf, last};
  }
  return wanted;
}

void note(ApiCall& call, const std::string& what) {
  const std::string from = call.from();
  const Lock lock(call.worker.zone());
  call.worker.shared().board->events.add(ngx_time(), what, from);
}

void refuse_unreached(const StoreOrder& order) {
  if (!order.reached()) {
    throw Refusal{503, "The store does not answer: nothing is certain to have been done. Try again when it is back.", ""};
  }
}

// One session: ended where it is inside; else, with `line`, looked for in the line first, since only what was there counts.
class EvictOne {
 public:
  EvictOne(ApiCall& call, const RoomConf& room, const Wanted& wanted)
      : call_(call), room_(room), wanted_(wanted), order_(call.worker, room) {
    order_.ask(room::Kind::evict, wanted.sid);
  }

  bool step(ApiAnswer& answer) {
    order_.set_wake(answer.wake);
    while (!order_.waits()) {
      refuse_unreached(order_);
      if (asked_ == room::Kind::evict && order_.state() != room::State::released && wanted_.line) {
        order_.ask(asked_ = room::Kind::poll, wanted_.sid);
      } else if (asked_ == room::Kind::poll && is_there(order_.state())) {
        order_.ask(asked_ = room::Kind::release, wanted_.sid);
      } else {
        return finish(answer);
      }
    }
    answer.waits = true;
    return false;
  }

 private:
  static bool is_there(room::State state) noexcept {
    return state == room::State::waiting || state == room::State::closed || state == room::State::admitted;
  }
  bool finish(ApiAnswer& answer) {
    const bool ended = order_.state() == room::State::released;
    if (ended) {
      call_.worker.end_session(room_, wanted_.sid);
      note(call_, "room " + std::string(view(room_.name)) + ": one session ended");
    }
    answer.json = {{"ended", ended ? 1 : 0}};
    return true;
  }

  ApiCall call_;
  const RoomConf& room_;
  Wanted wanted_;
  StoreOrder order_;
  room::Kind asked_ = room::Kind::evict;
};

// Many: whoever calls is refused from the first step on; the answer waits until everybody has been counted.
class EvictMany {
 public:
  EvictMany(ApiCall& call, const RoomConf& room, const Wanted& wanted)
      : call_(call), room_(room), wanted_(wanted), order_(call.worker, room) {
    order_.cut({wanted.network, wanted.line});
  }

  bool step(ApiAnswer& answer) {
    order_.set_wake(answer.wake);
    answer.waits = order_.waits();
    if (order_.waits()) {
      return false;
    }
    refuse_unreached(order_);
    const room::CutStatus status = order_.status();
    if (status.id == 0) {
      throw Refusal{409, "Too many evictions of this room are under way: try again in a moment.", ""};
    }
    if (!status.done) {
      order_.go_on(status.id);
      return false;
    }
    since_ = noted_ == 0 ? status.id - 1 : since_;
    if (call_.worker.store() == nullptr && noted_ < kMostNoted && !call_.worker.note_ended(room_, since_)) {
      noted_ += 256;
      return false;
    }
    answer.json = {{"ended", status.ended}};
    note(call_, "room " + std::string(view(room_.name)) + ": " + std::to_string(status.ended) + " sessions ended, " +
                    (wanted_.said.empty() ? "everybody" : "network " + wanted_.said) + (wanted_.line ? " inside and in line" : " inside"));
    return true;
  }

 private:
  ApiCall call_;
  const RoomConf& room_;
  Wanted wanted_;
  StoreOrder order_;
  std::uint64_t since_ = 0;
  std::size_t noted_ = 0;
};

template <class Eviction>
ApiAnswer begin(ApiCall& call, const RoomConf& room, const Wanted& wanted) {
  ApiAnswer answer;
  answer.go_on = [eviction = std::make_shared<Eviction>(call, room, wanted)](ApiAnswer& later) { return eviction->step(later); };
  return answer;
}

}  // namespace

ApiAnswer evict(ApiCall& call) {
  const RoomConf& room = call.room();
  const Wanted wanted = read(call.body);
  if (call.worker.store() == nullptr && call.worker.row(room).memory().epoch == 0) {  // nobody has come yet
    ApiAnswer answer;
    answer.json = {{"ended", 0}};
    return answer;
  }
  return wanted.one ? begin<EvictOne>(call, room, wanted) : begin<EvictMany>(call, room, wanted);
}

}  // namespace fairway::ngx
