#include "nginx/state_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>

namespace fairway::ngx {

namespace {

constexpr std::int64_t kRetry = 5;      // s between two tries to save what could not be saved
constexpr std::int64_t kLogEvery = 60;  // s

// mkdir with its parent; 0 or an errno, EEXIST when there is something of that name.
int make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) {
    return 0;
  }
  const auto slash = path.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) {
    return errno;
  }
  if (::mkdir(path.substr(0, slash).c_str(), 0755) != 0) {
    return errno;
  }
  return ::mkdir(path.c_str(), 0700) == 0 ? 0 : errno;
}

// Whether the workers can write into the state folder that was there before.
bool fits_workers(ngx_cycle_t* cycle, const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    ngx_log_error(NGX_LOG_WARN, cycle->log, 0, "fairway_state \"%s\" is not a folder: nothing is saved", path.c_str());
    return false;
  }
  uid_t user = ::geteuid();
  gid_t group = 0;
  worker_owner(cycle, user, group);
  if (user != 0 && info.st_uid != user) {
    ngx_log_error(NGX_LOG_WARN, cycle->log, 0, "fairway_state \"%s\" does not belong to the worker user (uid %ui): nothing is saved",
                  path.c_str(), static_cast<ngx_uint_t>(user));
    return false;
  }
  return true;
}

// What replace_file() of a worker that is no more had begun: "settings.PID", "rooms.PID".
bool is_leftover(std::string_view name) noexcept {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || (name.substr(0, dot) != "settings" && name.substr(0, dot) != "rooms")) {
    return false;
  }
  pid_t pid = 0;
  const char* last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + dot + 1, last, pid);
  return error == std::errc{} && end == last && pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

void remove_leftovers(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (folder == nullptr) {
    return;
  }
  while (const dirent* entry = ::readdir(folder.get())) {
    if (is_leftover(entry->d_name)) {
      ::unlinkat(::dirfd(folder.get()), entry->d_name, 0);
    }
  }
}

}  // namespace

bool worker_owner(ngx_cycle_t* cycle, uid_t& user, gid_t& group) noexcept {
  if (::geteuid() != 0) {
    return false;
  }
  const auto* core = reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(cycle->conf_ctx, ngx_core_module));
  user = static_cast<uid_t>(core->user);
  group = static_cast<gid_t>(core->group);
  return true;
}

bool prepare_state(ngx_cycle_t* cycle, const MainConf& conf) {
  std::string path(view(conf.state));
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  const int error = make_folder(path);
  if (error == EEXIST) {
    remove_leftovers(path);
    return fits_workers(cycle, path);
  }
  uid_t user = 0;
  gid_t group = 0;
  if (error != 0 || (worker_owner(cycle, user, group) && ::chown(path.c_str(), user, group) != 0)) {
    ngx_log_error(NGX_LOG_WARN, cycle->log, error != 0 ? error : errno, "fairway_state \"%s\" cannot be made: nothing is saved",
                  path.c_str());
    return false;
  }
  return true;
}

FolderLock::FolderLock(const MainConf& conf, bool wait) noexcept
    : folder_(::open(reinterpret_cast<const char*>(conf.state.data), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  int result = 0;
  do {
    result = ::flock(folder_.get(), wait ? LOCK_EX : LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  busy_ = result != 0 && errno == EWOULDBLOCK;
}

bool replace_file(const std::string& path, std::string_view text, bool lasting) {
  const std::string temporary = path + "." + std::to_string(ngx_pid);
  bool whole = false;
  {
    const File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) {
      return false;
    }
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = ::write(file.get(), text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR) {
        break;
      }
      done += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    whole = done == text.size() && (!lasting || ::fsync(file.get()) == 0);
  }
  if (!whole || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    errno = error;
    return false;
  }
  return true;
}

bool is_time_to_save(std::int64_t failed) noexcept {
  return failed == 0 || ngx_time() < failed || ngx_time() - failed >= kRetry;
}

void log_not_saved(const MainConf& conf, std::atomic<std::int64_t>& last_log, ngx_log_t* log, const char* what, ngx_err_t error) noexcept {
  std::int64_t last = last_log.load();
  if (ngx_time() - last >= kLogEvery && last_log.compare_exchange_strong(last, ngx_time())) {
    ngx_log_error(NGX_LOG_ERR, log, error, "fairway: cannot save %s in \"%V\"", what, &conf.state);
  }
}

}  // namespace fairway::ngx
