// How a change by an operator becomes effective.
#include "nginx/api.h"
#include "nginx/settings_file.h"

namespace fairway::ngx {

void change(ApiCall& call, const std::function<std::vector<std::string>(operate::Adjustments&)>& edit) {
  Live& live = call.worker.live();
  Board& board = *call.worker.shared().board;
  const std::string from = call.from();
  for (;;) {
    live.follow();
    operate::Adjustments next = live.adjustments();
    const std::vector<std::string> done = edit(next);
    if (next == live.adjustments()) {
      return;
    }
    const std::string text = next.text();
    if (text.size() > Board::kMaxText) {
      throw Refusal{409, "All changes together are too large: 512k is the most. Put some of them into nginx.conf.", ""};
    }
    const Lock lock(call.worker.zone());
    if (board.publish(live.version(), text)) {
      for (const std::string& what : done) {
        board.events.add(ngx_time(), what, from);
      }
      break;
    }
  }
  live.follow();
  save_settings(call.worker.conf(), call.worker.shared(), ngx_cycle->log);  // the log of a connection shows the request
}

}  // namespace fairway::ngx
