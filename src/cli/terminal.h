// The terminal while something is drawn on it again and again, and the pauses between.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace fairway::cli {

struct Size {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// Whether SIGINT, SIGTERM, SIGHUP or the key q asked to stop, since an Interrupts exists.
bool stop_asked();

// Catches those signals and SIGWINCH while it exists; one at a time in a process, whose only thread uses it.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Until that moment, or until one of the signals. `keys`: also until a key is pressed on standard input; q asks to stop.
  void pause_until(std::chrono::steady_clock::time_point moment, bool keys);
};

// A second screen without cursor and without echo of what is typed; the first one is back when it is destroyed.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  static Size size();
  // Draws the lines from the top, cut to the size of now.
  void draw(const std::vector<std::string>& lines);
};

}  // namespace fairway::cli
