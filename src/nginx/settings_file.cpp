#include "nginx/settings_file.h"

#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "nginx/state_folder.h"
#include "operate/fit.h"

namespace fairway::ngx {

namespace {

using operate::Adjustments;
using operate::Overrides;

std::string path_of(const MainConf& conf) {
  return std::string(view(conf.state)) + "/settings";
}

// The master's report of what it changed in the adjustments.
class Settling {
 public:
  Settling(const MainConf& conf, ngx_log_t* log) : conf_(conf), log_(log), shared_(conf.store != nullptr) {}

  void settle(Adjustments& all) {
    for (auto room = all.rooms.begin(); room != all.rooms.end();) {
      room = settle_room(room->first, room->second) ? all.rooms.erase(room) : std::next(room);
    }
    for (auto queue = all.queues.begin(); queue != all.queues.end();) {
      queue = settle_queue(queue->first, queue->second) ? all.queues.erase(queue) : std::next(queue);
    }
  }
  const std::vector<std::string>& said() const noexcept { return said_; }

 private:
  void say(const std::string& text) {
    said_.push_back(text);
    ngx_log_error(NGX_LOG_WARN, log_, 0, "fairway: %s", text.c_str());
  }

  template <class Conf>
  const Conf* find(const ngx_array_t& array, std::string_view name) const noexcept {
    for (const Conf* conf : std::span(static_cast<Conf**>(array.elts), array.nelts)) {
      if (view(conf->name) == name) {
        return conf;
      }
    }
    return nullptr;
  }

  void tell_gone(const std::string& what, const std::vector<std::string>& fields) {
    for (const std::string& field : fields) {
      std::string text = what;
      say(text.append(": \"").append(field).append("\" was changed in nginx.conf, which counts now"));
    }
  }

  // The file's word counts for these fields; where the changes are shared they are kept for gateways whose file says something else.
  void drop(const std::string& what, const std::vector<operate::Problem>& fields, Overrides& overrides, bool shared) {
    for (const operate::Problem& field : fields) {
      std::string text = what;
      say(text.append(": the change of \"").append(field.field).append("\" is forgotten, since ").append(field.detail));
      if (shared) {
        overrides[field.field].over = true;
      } else {
        overrides.erase(field.field);
      }
    }
  }

  void settle_made(const std::string& what, operate::RoomAdjustment& room, bool in_file) {
    if (in_file && !room.in_file) {
      say(what + " was made by the console and is in nginx.conf now, which counts");
      for (auto& [name, override] : room.fields) {
        override.over = true;
      }
      if (!shared_) {
        room.fields.clear();
      }
      room.made = shared_;
    } else if (!in_file && room.in_file) {
      for (auto& [name, override] : room.fields) {
        override.over = false;
      }
    }
    room.in_file = shared_ && in_file;
  }

  // True: nothing is left of it.
  bool settle_room(const std::string& name, operate::RoomAdjustment& room) {
    const auto* file = find<RoomConf>(conf_.rooms, name);
    const std::string what = "room " + name;
    if (room.says_nothing()) {
      return false;
    }
    if (room.made) {
      settle_made(what, room, file != nullptr);
    } else if (file == nullptr) {
      if (!shared_) {
        say(what + " is not in nginx.conf any more: what was changed of it is forgotten");
      }
      return !shared_;
    }
    operate::RoomSettings settings;
    if (file != nullptr) {
      settings = static_cast<const operate::RoomSettings&>(*file);
      tell_gone(what, operate::settle(operate::room_fields(), settings, room.fields, shared_));
    }
    drop(what, operate::unfit(operate::room_fields(), settings, room.fields, [](const auto& all) { return operate::check_together(all); }),
         room.fields, shared_);
    if (!shared_ && room.made && !room.fields.contains("capacity")) {
      say(what + " is gone, since nothing says its capacity");
      return true;
    }
    return !shared_ && room.says_nothing();
  }

  bool settle_queue(const std::string& name, Overrides& overrides) {
    const auto* file = find<QueueConf>(conf_.queues, name);
    const std::string what = "queue " + name;
    if (file == nullptr) {
      say(what + " is not in nginx.conf any more: what was changed of it is forgotten");
      return true;
    }
    operate::QueueSettings settings = static_cast<const operate::QueueSettings&>(*file);
    tell_gone(what, operate::settle(operate::queue_fields(), settings, overrides));
    const auto check = [file](operate::QueueSettings& all) {
      const auto problem = operate::check_together(all);
      return problem ? problem : operate::check_capacity(all, file->capacity);
    };
    drop(what, operate::unfit(operate::queue_fields(), settings, overrides, check), overrides, false);
    return overrides.empty();
  }

  const MainConf& conf_;
  ngx_log_t* log_;
  bool shared_;
  std::vector<std::string> said_;
};

// What the state folder holds, for a zone that has nothing yet. nullopt: nothing, or nothing that was understood.
std::optional<Adjustments> read_file(const MainConf& conf, ngx_log_t* log) {
  std::ifstream file(path_of(conf), std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  std::string text(Board::kMaxText + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  std::string why = "it is too long";
  auto found = text.size() > Board::kMaxText ? std::nullopt : Adjustments::parse(text, why);
  if (!found) {
    ngx_log_error(NGX_LOG_ERR, log, 0, "fairway: \"%V/settings\" is passed over, since %s: what nginx.conf says counts", &conf.state,
                  why.c_str());
  }
  return found;
}

struct Published {
  std::uint64_t version = 0;
  std::string text;
};

Published read_board(const MainConf& conf) {
  const Board& board = *shared_of(conf.zone)->board;
  const Lock lock(conf.zone);
  return {board.version.load(std::memory_order_relaxed), std::string(board.text())};
}

void settle_board(MainConf& conf, ngx_log_t* log) {
  Board& board = *shared_of(conf.zone)->board;
  for (;;) {  // again when a worker of the running configuration was faster
    const Published before = read_board(conf);
    std::string why;
    auto adjustments = before.version == 0 ? read_file(conf, log) : Adjustments::parse(before.text, why);
    if (!adjustments) {
      return;
    }
    const Adjustments old = before.version == 0 ? Adjustments{} : *adjustments;
    Settling settling(conf, log);
    settling.settle(*adjustments);
    if (old == *adjustments) {
      return;
    }
    const std::string text = adjustments->text();
    const Lock lock(conf.zone);
    if (board.publish(before.version, text)) {
      if (before.version == 0 && settling.said().empty()) {
        board.saved.store(1);  // as it was read
      }
      for (const std::string& said : settling.said()) {
        board.events.add(ngx_time(), said, "nginx.conf");
      }
      return;
    }
  }
}

}  // namespace

void save_settings(const MainConf& conf, Shared& shared, ngx_log_t* log, bool at_once) noexcept {
  Board& board = *shared.board;
  if (!conf.keep_state || !is_newest(conf) || board.is_saved() || !(at_once || is_time_to_save(board.trouble.at.load()))) {
    return;
  }
  try {
    const FolderLock folder(conf, at_once);
    while (!folder.is_busy() && !board.is_saved()) {
      const Published published = read_board(conf);
      if (!replace_file(path_of(conf), published.text, true)) {
        const ngx_err_t error = ngx_errno;
        board.trouble.note(error, ngx_time());
        log_not_saved(conf, board.trouble.last_log, log, "changed settings", error);
        return;
      }
      board.trouble.note(0, ngx_time());
      const Lock lock(conf.zone);
      if (!is_newest(conf)) {
        return;
      }
      board.saved.store(published.version);
    }
  } catch (...) {
    board.trouble.note(ENOMEM, ngx_time());
    ngx_log_error(NGX_LOG_ERR, log, 0, "fairway: no memory to save changed settings");
  }
}

void restore_settings(MainConf& conf, ngx_log_t* log) noexcept {
  Shared* shared = shared_of(conf.zone);
  if (shared == nullptr) {
    return;
  }
  try {
    settle_board(conf, log);
  } catch (...) {
    ngx_log_error(NGX_LOG_ERR, log, 0, "fairway: no memory to take over changed settings");
  }
}

}  // namespace fairway::ngx
