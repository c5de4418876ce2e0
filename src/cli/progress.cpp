#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "cli/table.h"

namespace fairway::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kBar = 30;
constexpr std::size_t kColumns = 79;

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0), next_(steady_clock::now() + std::chrono::milliseconds(300)) {}

Progress::~Progress() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
}

bool Progress::due() const {
  return terminal_ && steady_clock::now() >= next_;
}

void Progress::show(std::optional<double> share, const std::string& text) {
  if (!due()) return;
  next_ = steady_clock::now() + std::chrono::milliseconds(100);
  std::string line;
  if (share) {
    const auto full = static_cast<std::size_t>(std::lround(std::clamp(*share, 0.0, 1.0) * kBar));
    line = "[" + std::string(full, '#') + std::string(kBar - full, '.') + "] ";
  }
  std::cerr << "\r" << cut(line + text, kColumns) << "\x1b[K" << std::flush;
  shown_ = true;
}

}  // namespace fairway::cli
