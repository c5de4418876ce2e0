#include "cli/supervisor.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "cli/process.h"

namespace fairway::cli {
namespace {

sigset_t our_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

// The next signal, or 0 after 20 ms when `poll` is set.
int next_signal(bool poll) {
  const sigset_t set = our_signals();
  const timespec pause{0, 20'000'000};
  for (;;) {
    const int signal = poll ? sigtimedwait(&set, nullptr, &pause) : sigwaitinfo(&set, nullptr);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
  }
}

// Collects every child that ended, also those inherited when this is the first process of a container. True when `child` is among them.
bool collect(pid_t child, int& status) {
  bool found = false;
  int ended_status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &ended_status, WNOHANG)) > 0;) {
    if (ended != child) continue;
    found = true;
    status = ended_status;
  }
  return found;
}

}  // namespace

void hold_signals() {
  const sigset_t set = our_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

bool supervise(const std::vector<std::string>& arguments, const std::string& folder, const std::function<bool()>& is_ready,
               const std::function<void()>& ready) {
  const pid_t child = start_process(arguments, folder);
  bool told = false;
  bool asked = false;
  for (;;) {
    const int signal = next_signal(!told);
    int status = 0;
    if (signal == SIGCHLD && collect(child, status))
      return asked && (exit_code(status) == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM));
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
      asked = true;
      kill(child, signal == SIGQUIT ? SIGQUIT : SIGTERM);
    } else if (signal == SIGHUP || signal == SIGUSR1) {
      // Before nginx is up, these would end it; it has just read its files anyway.
      if (told) kill(child, signal);
    }
    if (!told && !asked && is_ready()) {
      told = true;
      ready();
    }
  }
}

}  // namespace fairway::cli
