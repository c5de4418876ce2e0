#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/failure.h"

namespace fairway::cli {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw RunError(what + " " + path + ": " + std::strerror(error));
}

// Writes everything and closes; returns 0 or errno.
int write_and_close(int fd, std::string_view content) {
  int error = 0;
  while (error == 0 && !content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0 && fsync(fd) != 0 && errno != EINVAL) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  return error;
}

int open_new(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

}  // namespace

std::string read_file(const std::string& path, std::size_t most) {
  if (std::filesystem::is_directory(path)) fail("cannot read", path, EISDIR);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot read", path, errno != 0 ? errno : EIO);
  std::string content;
  for (std::istreambuf_iterator<char> at(in), end; at != end; ++at) {
    if (content.size() == most) throw RunError("cannot use " + path + ": it is larger than " + std::to_string(most) + " bytes");
    content += *at;
  }
  return content;
}

void create_private_file(const std::string& path, std::string_view content) {
  const int fd = open_new(path);
  if (fd < 0) fail("cannot make", path, errno);
  if (const int error = write_and_close(fd, content); error != 0) {
    unlink(path.c_str());
    fail("cannot write", path, error);
  }
}

void replace_private_file(const std::string& path, std::string_view content) {
  std::error_code ignored;
  const std::string target = std::filesystem::exists(path, ignored) ? std::filesystem::canonical(path).string() : path;
  const std::string temporary = target + ".new";
  unlink(temporary.c_str());  // left behind by a run that was killed
  const int fd = open_new(temporary);
  if (fd < 0) fail("cannot make", temporary, errno);
  struct stat old {};
  int error = 0;
  if (stat(target.c_str(), &old) == 0 && (old.st_uid != geteuid() || old.st_gid != getegid()) && fchown(fd, old.st_uid, old.st_gid) != 0)
    error = errno;
  const int write_error = write_and_close(fd, content);
  if (error == 0) error = write_error;
  if (error == 0 && rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    fail("cannot write", target, error);
  }
}

void make_folders(const std::string& path, unsigned mode) {
  const auto parent = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!parent.empty() && !std::filesystem::exists(parent, ignored)) make_folders(parent.string(), 0700);
  if (mkdir(path.c_str(), static_cast<mode_t>(mode)) != 0) {
    if (errno != EEXIST) fail("cannot make the folder", path, errno);
  } else if (chmod(path.c_str(), static_cast<mode_t>(mode)) != 0) {  // whatever the umask took away
    fail("cannot make the folder", path, errno);
  }
}

}  // namespace fairway::cli
