// A bar on standard error, when that is a terminal, for what takes more than a moment.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace fairway::cli {

class Progress {
 public:
  Progress();
  ~Progress();  // takes the bar away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // At most ten times a second. `share`: of the whole, when that is known.
  void show(std::optional<double> share, const std::string& text);
  // Whether show() would draw now; for those who would have to make up a text.
  bool due() const;

 private:
  bool shown_ = false;
  bool terminal_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace fairway::cli
