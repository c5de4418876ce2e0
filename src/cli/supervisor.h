// nginx as a child in the foreground: signals go to it, and it is gone before this process is.
//   SIGTERM, SIGINT   stop now        SIGQUIT  stop when the visitors' requests are done
//   SIGHUP            reload          SIGUSR1  open the log files anew
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fairway::cli {

// Holds back the signals above from now on, so that none is lost between here and supervise().
void hold_signals();

// Starts the program in `folder`, calls `ready` once when `is_ready` has become true, and waits for its end. Returns true when it ended
// well because it was asked to, false when it ended by itself or badly.
bool supervise(const std::vector<std::string>& arguments, const std::string& folder, const std::function<bool()>& is_ready,
               const std::function<void()>& ready);

}  // namespace fairway::cli
