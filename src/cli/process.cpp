#include "cli/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/failure.h"

namespace fairway::cli {
namespace {

// In the child, after fork: only calls that are safe there. Answers through the exit code of a shell: 126 cannot run.
[[noreturn]] void become(char* const* arguments, const char* folder, int output, pid_t parent) {
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);  // shells start jobs with some ignored
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(126);  // it died before the line above
  if (output >= 0 && (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)) _exit(126);
  if (chdir(folder) == 0) execv(arguments[0], arguments);
  const char* const reason = std::strerror(errno);
  for (const char* part : {"cannot run ", static_cast<const char*>(arguments[0]), ": ", reason, "\n"}) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  _exit(126);
}

}  // namespace

pid_t start_process(const std::vector<std::string>& arguments, const std::string& folder, int output) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw RunError(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) become(pointers.data(), folder.c_str(), output, parent);
  return child;
}

Finished run_and_read(const std::vector<std::string>& arguments, const std::string& folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw RunError(std::string("cannot make a pipe: ") + std::strerror(errno));
  pid_t child = -1;
  try {
    child = start_process(arguments, folder, ends[1]);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
  Finished finished;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t size = read(ends[0], buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    if (finished.output.size() < 64 * 1024) finished.output.append(buffer.data(), static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  finished.status = exit_code(status);
  return finished;
}

int exit_code(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace fairway::cli
