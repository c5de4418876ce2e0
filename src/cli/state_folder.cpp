#include "cli/state_folder.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/failure.h"
#include "cli/files.h"
#include "cli/keys.h"

namespace fairway::cli {
namespace {

struct stat folder_info(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) throw RunError("cannot use " + path + ": " + std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) throw RunError("cannot use " + path + ": it is not a folder");
  return info;
}

// Whoever may rename files in the folder decides what nginx runs with our rights.
void check_safe(const std::string& path) {
  const struct stat info = folder_info(path);
  if (geteuid() == 0 && info.st_uid != 0)
    throw RunError(path + " belongs to another user, who could change what root runs: chown root " + path);
  if ((info.st_mode & 022) != 0) throw RunError("others can write to " + path + ": give --state a folder of its own, or chmod 700 " + path);
}

void give_to_workers(const std::string& path, const Machine& machine) {
  if (machine.worker_user.empty()) return;
  const struct passwd* user = getpwnam(machine.worker_user.c_str());
  const struct group* group = getgrnam(machine.worker_group.c_str());
  if (user == nullptr || group == nullptr)
    throw RunError("there is no user " + machine.worker_user + " with group " + machine.worker_group);
  if (lchown(path.c_str(), user->pw_uid, group->gr_gid) != 0)
    throw RunError("cannot give " + path + " to " + machine.worker_user + ": " + std::strerror(errno));
}

int take_lock(const std::string& state) {
  const std::string path = state + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) throw RunError("cannot make " + path + ": " + std::strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    throw RunError(state + " is in use by another fairway run: stop that one, or give --state another folder");
  }
  return fd;
}

}  // namespace

StateFolder::StateFolder(const RunSettings& settings, const Machine& machine) : work_(settings.work_path()) {
  std::error_code ignored;
  if (!std::filesystem::exists(settings.state, ignored)) make_folders(settings.state, 0700);
  check_safe(settings.state);
  // A folder with things of others in it is not ours to close.
  if (std::filesystem::is_empty(settings.state, ignored) && chmod(settings.state.c_str(), 0700) != 0) {
    throw RunError("cannot close " + settings.state + " to others: " + std::strerror(errno));
  }
  lock_ = take_lock(settings.state);
  make_folders(settings.work_path(), machine.worker_user.empty() ? 0700 : 0711);
  make_folders(settings.work_path() + "/room", 0700);
  give_to_workers(settings.work_path() + "/room", machine);
  if (!std::filesystem::exists(settings.keys_path(), ignored)) create_private_file(settings.keys_path(), new_keys_text());
}

void StateFolder::give_password(const std::string& line, const Machine& machine) const {
  const std::string path = work_ + "/console";
  unlink(path.c_str());  // one of an earlier run may belong to other workers
  create_private_file(path, line + "\n");
  give_to_workers(path, machine);
}

StateFolder::~StateFolder() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace fairway::cli
