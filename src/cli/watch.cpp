#include "cli/watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <iostream>
#include <optional>

#include "cli/failure.h"
#include "cli/table.h"
#include "cli/terminal.h"

namespace fairway::cli {
namespace {

using namespace std::chrono_literals;

constexpr long kCallSeconds = 5;

std::string time_of_day(const char* form) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 64> text{};
  localtime_r(&now, &local);
  return {text.data(), std::strftime(text.data(), text.size(), form, &local)};
}

class Watch {
 public:
  explicit Watch(const OperatorCommand& command)
      : command_(command), room_(command.verb == Verb::room_watch), api_(command.api, kCallSeconds, stop_asked) {}

  // Once; with a screen, on it.
  void look(Screen* screen) {
    failed_ = false;
    try {
      const ApiAnswer now = api_.get(path());
      screen == nullptr ? write_line(now) : draw(*screen, now.json);
      seen_ = true;
    } catch (const UnreachableError& error) {
      if (stop_asked()) return;  // it was ended in the middle of a call
      if (!seen_) throw;
      failed_ = true;  // a gateway that starts again is worth waiting for
      complain(screen, error.what());
    }
  }

  bool failed() const { return failed_; }

 private:
  std::string path() const { return (room_ ? "rooms/" : "queues/") + command_.name; }

  void write_line(const ApiAnswer& now) const {
    std::string line = now.text;
    if (!command_.json) line = time_of_day("%Y-%m-%dT%H:%M:%S%z  ") + (room_ ? room_line(now.json) : queue_line(now.json));
    if (!line.ends_with('\n')) line += '\n';
    std::cout << line << std::flush;
  }

  void draw(Screen& screen, const Json& now) {
    const Json history = api_.get(path() + "/history").json;
    const std::size_t columns = Screen::size().columns;
    last_ = room_ ? room_view(now, history, columns) : queue_view(now, history, columns);
    last_.insert(last_.begin(), {time_of_day("%H:%M:%S") + "  " + printable(api_.url()) + "  q ends", ""});
    screen.draw(last_);
  }

  void complain(Screen* screen, const std::string& what) {
    if (screen == nullptr) {
      std::cerr << "fairway: " << what << std::endl;
      return;
    }
    std::vector<std::string> lines = last_;
    lines.insert(lines.end(), {"", time_of_day("%H:%M:%S") + "  " + what});
    screen->draw(lines);
  }

  const OperatorCommand& command_;
  bool room_;
  ApiClient api_;
  bool seen_ = false;
  bool failed_ = false;
  std::vector<std::string> last_;
};

}  // namespace

int watch(const OperatorCommand& command) {
  Interrupts interrupts;
  Watch view(command);
  const bool live = isatty(STDOUT_FILENO) != 0 && !command.json;
  const bool keys = live && isatty(STDIN_FILENO) != 0;
  std::optional<Screen> screen;
  if (live) screen.emplace();
  auto next = std::chrono::steady_clock::now();
  for (std::uint64_t times = 0; !stop_asked() && std::cout;) {
    view.look(live ? &*screen : nullptr);
    if (command.count && ++times >= *command.count) break;
    const auto now = std::chrono::steady_clock::now();
    if (now >= next) next = std::max(next + 1s, now);  // a window of another size is drawn at once, and does not change the beat
    interrupts.pause_until(next, keys);
  }
  return view.failed() ? 3 : 0;
}

}  // namespace fairway::cli
