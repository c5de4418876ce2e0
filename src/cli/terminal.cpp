#include "cli/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string_view>

#include "cli/table.h"

namespace fairway::cli {
namespace {

constexpr std::array<int, 3> kEnds{SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t stop_signal = 0;
std::optional<termios> typing;  // as it was before

void on_end(int signal) {
  stop_signal = signal;
}
void on_resize(int) {}  // ends the pause

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

sigset_t caught() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kEnds) sigaddset(&set, signal);
  sigaddset(&set, SIGWINCH);
  return set;
}

timespec until(std::chrono::steady_clock::time_point moment) {
  const auto left = std::max(moment - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration::zero());
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {whole.count(), std::chrono::duration_cast<std::chrono::nanoseconds>(left - whole).count()};
}

}  // namespace

bool stop_asked() {
  return stop_signal != 0;
}

Interrupts::Interrupts() {
  stop_signal = 0;
  for (const int signal : kEnds) handle(signal, on_end);
  handle(SIGWINCH, on_resize);
}

Interrupts::~Interrupts() {
  for (const int signal : kEnds) handle(signal, SIG_DFL);
  handle(SIGWINCH, SIG_DFL);
}

void Interrupts::pause_until(std::chrono::steady_clock::time_point moment, bool keys) {
  const sigset_t blocked = caught();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &blocked, &before);  // none can slip in between the question and the pause
  if (!stop_asked()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const timespec left = until(moment);
    char key = 0;
    if (ppoll(&input, keys ? 1 : 0, &left, &before) == 1 && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q')) stop_signal = SIGTERM;
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

Screen::Screen() {
  termios now{};
  if (tcgetattr(STDIN_FILENO, &now) == 0) {
    typing = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
    now.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped program would leave the second screen behind
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  write_all("\x1b[?1049h\x1b[?25l\x1b[2J");
}

Screen::~Screen() {
  write_all("\x1b[?25h\x1b[?1049l");
  if (typing) tcsetattr(STDIN_FILENO, TCSANOW, &*typing);
  typing.reset();
}

Size Screen::size() {
  winsize told{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &told) != 0 || told.ws_col == 0 || told.ws_row == 0) return {};
  return {told.ws_col, told.ws_row};
}

void Screen::draw(const std::vector<std::string>& lines) {
  const Size now = size();
  std::string frame = "\x1b[H";
  for (std::size_t i = 0; i < std::min(lines.size(), now.rows); ++i)
    frame += (i == 0 ? "" : "\r\n") + cut(lines[i], now.columns) + "\x1b[K";
  write_all(frame + "\x1b[J");
}

}  // namespace fairway::cli
