// Child processes that never outlive this one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fairway::cli {

// Starts arguments[0] (a path) in `folder` with default signal handling. It gets SIGTERM when this process dies, however it dies.
// output: a file descriptor for its standard output and error, or -1 for ours. Throws RunError.
pid_t start_process(const std::vector<std::string>& arguments, const std::string& folder, int output = -1);

struct Finished {
  int status = 0;      // exit code, or 128 + signal
  std::string output;  // standard output and error together, at most 64 KiB
};
Finished run_and_read(const std::vector<std::string>& arguments, const std::string& folder);

// waitpid's status as an exit code: 128 + signal when it was killed.
int exit_code(int wait_status);

}  // namespace fairway::cli
