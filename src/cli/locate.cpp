#include "cli/locate.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cli/failure.h"

namespace fairway::cli {
namespace {

constexpr const char* kModule = "ngx_http_fairway_module.so";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_program(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> path_folders() {
  std::vector<std::string> folders;
  const std::string path = environment("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    if (end > begin && path[begin] == '/') folders.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

}  // namespace

std::string find_nginx() {
  const std::string chosen = environment("FAIRWAY_NGINX");
  if (!chosen.empty()) {
    if (is_program(chosen)) return std::filesystem::absolute(chosen).string();
    throw RunError("FAIRWAY_NGINX is " + chosen + ", which is no program that can be run");
  }
  std::vector<std::string> folders = path_folders();
  folders.insert(folders.end(), {"/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin"});
  for (const std::string& folder : folders) {
    if (is_program(folder + "/nginx")) return folder + "/nginx";
  }
  throw RunError("nginx is missing: install it (apt-get install nginx-light), or name it in FAIRWAY_NGINX");
}

std::string find_module() {
  std::error_code error;
  const std::string chosen = environment("FAIRWAY_MODULE");
  if (!chosen.empty()) {
    if (std::filesystem::is_regular_file(chosen, error)) return std::filesystem::absolute(chosen).string();
    throw RunError("FAIRWAY_MODULE is " + chosen + ", which is no file");
  }
  const std::string beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
  const std::vector<std::string> folders{beside, "/usr/lib/nginx/modules", "/usr/lib64/nginx/modules", "/usr/share/nginx/modules"};
  for (const std::string& folder : folders) {
    std::string path = folder + "/" + kModule;
    if (std::filesystem::is_regular_file(path, error)) return path;
  }
  throw RunError(std::string(kModule) + " is missing: it is looked for in " + beside +
                 " and /usr/lib/nginx/modules, or name it in FAIRWAY_MODULE");
}

Machine look_around() {
  Machine machine;
  if (geteuid() == 0) {
    machine.worker_user = machine.worker_group = "root";
    for (const char* name : {"www-data", "nginx", "nobody"}) {
      const struct passwd* user = getpwnam(name);
      const struct group* group = user == nullptr ? nullptr : getgrgid(user->pw_gid);
      if (group == nullptr) continue;
      machine.worker_user = name;
      machine.worker_group = group->gr_name;
      break;
    }
  }
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) machine.open_files = static_cast<std::uint32_t>(std::min<rlim_t>(limit.rlim_max, 1 << 20));
  return machine;
}

}  // namespace fairway::cli
