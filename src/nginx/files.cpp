#include "nginx/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "nginx/open_file.h"
#include "nginx/state_folder.h"
#include "nginx/values.h"

namespace fairway::ngx {

namespace {

// A whole regular file of at most `most` bytes into the pool. Answers 0, or an errno: EINVAL when it is not a regular file, EFBIG
// when it is too large. Never waits, whatever the name stands for.
int read_file(ngx_pool_t* pool, const ngx_str_t& name, std::size_t most, ngx_str_t& text, struct stat& info) noexcept {
  const File file(::open(reinterpret_cast<const char*>(name.data), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file || ::fstat(file.get(), &info) != 0) {
    return errno;
  }
  if (!S_ISREG(info.st_mode)) {
    return EINVAL;
  }
  auto* data = static_cast<u_char*>(ngx_pnalloc(pool, most + 1));
  if (data == nullptr) {
    return ENOMEM;
  }
  std::size_t length = 0;
  while (length <= most) {
    const ssize_t got = ::read(file.get(), data + length, most + 1 - length);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return errno;
    }
    if (got == 0) {
      text = {length, data};
      return 0;
    }
    length += static_cast<std::size_t>(got);
  }
  return EFBIG;
}

// Makes `text` the keys of `conf`.
char* use_keys(ngx_conf_t* cf, MainConf& conf, std::string_view text) {
  std::string error;
  auto ring = KeyRing::parse(text, error);
  if (ring == nullptr) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "keys file \"%V\": %s", &conf.keys_file, error.c_str());
    return conf_error;
  }
  conf.keys = make_owned<std::unique_ptr<KeyRing>>(cf->pool, std::move(ring));
  conf.keys_text = make_owned<std::string>(cf->pool, text);
  return conf.keys == nullptr || conf.keys_text == nullptr ? conf_error : conf_ok;
}

char* use_fresh_key(ngx_conf_t* cf, MainConf& conf) {
  std::string line = make_key_line();
  if (line.empty()) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "no randomness to be had for a key");
    return conf_error;
  }
  if (line.back() != '\n') {
    line += '\n';
  }
  return use_keys(cf, conf, line);
}

// There is no keys file: the running gateway's keys, else a fresh one; prepare_files writes them.
char* use_missing_keys(ngx_conf_t* cf, MainConf& conf) {
  const MainConf* running = running_conf(cf);
  const bool same = running != nullptr && running->keys_text != nullptr && view(running->keys_file) == view(conf.keys_file);
  if (same && running->new_keys == nullptr) {
    ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "keys file \"%V\" is gone: the running keys are kept and written again", &conf.keys_file);
  }
  char* result = same ? use_keys(cf, conf, *running->keys_text) : use_fresh_key(cf, conf);
  conf.new_keys = conf.keys_text;
  return result;
}

char* load_keys_file(ngx_conf_t* cf, MainConf& conf) {
  ngx_str_t text{};
  struct stat info {};
  const int error = read_file(cf->temp_pool, conf.keys_file, kMaxKeysFile, text, info);
  if (error == ENOENT || error == ENOTDIR) {
    return use_missing_keys(cf, conf);
  }
  if (error == EACCES && ngx_test_config && ::geteuid() != 0) {
    ngx_conf_log_error(NGX_LOG_WARN, cf, error, "keys file \"%V\" cannot be read by this user: it was not checked", &conf.keys_file);
    return use_fresh_key(cf, conf);
  }
  if (error != 0) {
    const char* why = error == EINVAL ? "is not a regular file" : error == EFBIG ? "is larger than 64k" : "cannot be read";
    ngx_conf_log_error(NGX_LOG_EMERG, cf, error == EINVAL || error == EFBIG ? 0 : error, "keys file \"%V\" %s", &conf.keys_file, why);
    return conf_error;
  }
  conf.keys_exposed = (info.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  if (conf.keys_exposed) {
    ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "keys file \"%V\" is open to other users: set its mode to 0600", &conf.keys_file);
  }
  return use_keys(cf, conf, view(text));
}

// 0 or an errno. Leaves no half-written file.
int write_keys(ngx_cycle_t* cycle, const char* name, std::string_view text) noexcept {
  const File file(::open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    return errno;
  }
  uid_t user = 0;
  gid_t group = 0;
  const bool owned = !worker_owner(cycle, user, group) || ::fchown(file.get(), user, group) == 0;
  if (owned && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file.get()) == 0) {
    return 0;
  }
  const int error = errno;
  ::unlink(name);
  return error;
}

}  // namespace

MainConf* running_conf(ngx_conf_t* cf) noexcept {
  ngx_cycle_t* old = cf->cycle->old_cycle;
  if (old == nullptr || ngx_is_init_cycle(old)) {
    return nullptr;
  }
  for (ngx_module_t** module = old->modules; *module != nullptr; ++module) {
    if (*module == &ngx_http_fairway_module) {
      return main_conf(old);
    }
  }
  return nullptr;  // the module was not loaded then; its slot in that configuration is not ours
}

const page::Template* load_template(ngx_conf_t* cf, ngx_str_t file) noexcept {
  if (ngx_conf_full_name(cf->cycle, &file, 1) != NGX_OK) {
    return nullptr;
  }
  ngx_str_t html{};
  struct stat info {};
  const int error = read_file(cf->pool, file, kMaxPageFile, html, info);
  if (error != 0) {
    const char* why = error == EINVAL ? "is not a regular file" : error == EFBIG ? "is larger than 1m" : "cannot be read";
    ngx_conf_log_error(NGX_LOG_EMERG, cf, error == EINVAL || error == EFBIG ? 0 : error, "page \"%V\" %s", &file, why);
    return nullptr;
  }
  if (html.len == 0 || !is_utf8(view(html))) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "page \"%V\" must be an HTML file in UTF-8", &file);
    return nullptr;
  }
  return make_owned<page::Template>(cf->pool, view(html));
}

char* load_keys(ngx_conf_t* cf, MainConf& conf) noexcept {
  try {
    return load_keys_file(cf, conf);
  } catch (...) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "no memory for the keys");
    return conf_error;
  }
}

ngx_int_t prepare_files(ngx_cycle_t* cycle, MainConf& conf) noexcept {
  if (conf.zone == nullptr) {
    return NGX_OK;
  }
  try {
    conf.keep_state = prepare_state(cycle, conf);
    const int error = conf.new_keys == nullptr ? 0 : write_keys(cycle, reinterpret_cast<const char*>(conf.keys_file.data), *conf.new_keys);
    if (error == 0) {
      conf.new_keys = nullptr;
    } else if (error == EEXIST) {
      ngx_log_error(NGX_LOG_ERR, cycle->log, 0, "fairway: keys file \"%V\" was made by somebody else meanwhile: reload to use it",
                    &conf.keys_file);
    } else {
      ngx_log_error(NGX_LOG_ERR, cycle->log, error,
                    "fairway: keys file \"%V\" cannot be made: this gateway's tickets and passes are worth nothing after a restart",
                    &conf.keys_file);
    }
    return NGX_OK;
  } catch (...) {
    return NGX_ERROR;
  }
}

}  // namespace fairway::ngx
