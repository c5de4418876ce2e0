// How a change by an operator becomes effective: at once here; what concerns rooms, with a shared store, only when the store has taken it,
// so that no gateway goes a way of its own.
#include "nginx/api.h"
#include "nginx/settings_file.h"
#include "nginx/settings_order.h"
#include "nginx/shared_settings.h"

namespace fairway::ngx {

namespace {

using operate::Adjustments;

constexpr int kMostTries = 20;  // against others who change something at the same time

class Change {
 public:
  Change(ApiCall call, Edit edit, Then then)
      : call_(std::move(call)), edit_(std::move(edit)), then_(std::move(then)), order_(call_.worker) {}

  // True: it is done, or nothing was to be done. Else the store was asked.
  bool begin() {
    if (call_.worker.settings() != nullptr && tries_ == 0) {
      known_ = call_.worker.settings()->known();
    }
    for (;;) {
      Live& live = call_.worker.live();
      live.follow();
      next_ = live.adjustments();
      done_ = edit_(call_, next_);
      if (next_ == live.adjustments()) {
        return true;
      }
      operate::stamp(live.adjustments(), next_, operate::next_version(next_, wall_clock_us()));
      if (call_.worker.settings() != nullptr && next_.rooms != live.adjustments().rooms) {
        offer();
        return false;
      }
      if (publish()) {
        return true;
      }
    }
  }

  // As ApiAnswer::go_on.
  bool step(ApiAnswer& later) {
    if (rest_) {
      return rest_(later);
    }
    order_.set_wake(later.wake);
    while (!order_.waits()) {
      if (take_answer()) {
        return finish(later);
      }
    }
    later.waits = true;
    return false;
  }

  ApiAnswer answer() { return then_(call_); }

 private:
  static void refuse_large(std::size_t size, std::size_t most) {
    if (size > most) {
      throw Refusal{
          409, "All changes together are too large: " + std::to_string(most / 1024) + "k is the most. Put some of them into nginx.conf.",
          ""};
    }
  }

  bool publish() {
    Live& live = call_.worker.live();
    Board& board = *call_.worker.shared().board;
    const std::string from = call_.from();
    const std::string text = next_.text();
    refuse_large(text.size(), Board::kMaxText);
    {
      const Lock lock(call_.worker.zone());
      if (!is_newest(call_.worker.conf())) {
        throw reloaded();
      }
      if (!board.publish(live.version(), text)) {
        return false;
      }
      for (const std::string& what : done_) {
        board.events.add(ngx_time(), what, from);
      }
    }
    live.follow();
    save_settings(call_.worker.conf(), call_.worker.shared(), ngx_cycle->log, true);  // the log of a connection shows the request
    return true;
  }

  void offer() {
    valkey::SettingsRequest request = call_.worker.settings()->offer(known_, next_);
    refuse_large(request.text.size(), valkey::kMaxSettings);
    offered_ = request.stamp;
    order_.ask(std::move(request));
  }

  // True: the change is done. False: the store was asked again.
  bool take_answer() {
    if (order_.outcome() == valkey::Outcome::no_memory) {
      throw Refusal{503, "The store has no memory left: nothing was changed.", ""};
    }
    if (order_.outcome() != valkey::Outcome::answered) {
      throw Refusal{
          503,
          "The store does not answer, and changes of rooms have to reach every gateway: nothing was changed here. Try again when it "
          "is back.",
          ""};
    }
    const valkey::SettingsReply& reply = order_.reply();
    if (reply.taken) {
      if (!call_.worker.settings()->taken(next_, offered_, done_, call_.from())) {
        throw Refusal{503, "nginx was reloaded meanwhile: the change is on its way by the store. Look whether it counts, or send it again.",
                      ""};
      }
      return true;
    }
    if (call_.worker.settings()->adopt(reply) == SharedSettings::Adopted::not_understood) {
      throw Refusal{503, "The store holds settings of another version of Fairway: nothing was changed.", ""};
    }
    if (++tries_ == kMostTries) {
      throw Refusal{503, "Others are changing rooms all the time: nothing was changed. Try again.", ""};
    }
    known_ = reply.stamp;
    return begin();
  }

  bool finish(ApiAnswer& later) {
    ApiAnswer answer = then_(call_);
    if (answer.go_on) {
      rest_ = std::move(answer.go_on);
      return rest_(later);
    }
    later.status = answer.status;
    later.json = std::move(answer.json);
    later.etag = std::move(answer.etag);
    later.location = std::move(answer.location);
    return true;
  }

  ApiCall call_;
  Edit edit_;
  Then then_;
  SettingsOrder order_;
  std::function<bool(ApiAnswer&)> rest_;
  Adjustments next_;
  std::vector<std::string> done_;
  std::string known_;
  std::string offered_;
  int tries_ = 0;
};

}  // namespace

ApiAnswer change(ApiCall& call, Edit edit, Then then) {
  const auto change = std::make_shared<Change>(call, std::move(edit), std::move(then));
  if (change->begin()) {
    return change->answer();
  }
  ApiAnswer answer;
  answer.go_on = [change](ApiAnswer& later) { return change->step(later); };
  return answer;
}

}  // namespace fairway::ngx
