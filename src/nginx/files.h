// The files the configuration names: keys, state folder, page templates. What is read is read by the master while it reads the
// configuration; what is made is made at start, never by `nginx -t`.
#pragma once

#include "nginx/config.h"

namespace fairway::ngx {

inline constexpr std::size_t kMaxKeysFile = 64 * 1024;    // bytes
inline constexpr std::size_t kMaxPageFile = 1024 * 1024;  // bytes

// A site's own waiting page, relative to the configuration file's folder. Logs what is wrong and answers nullptr.
const page::Template* load_template(ngx_conf_t* cf, ngx_str_t file) noexcept;

// Reads conf.keys_file into conf.keys. Without that file: the keys that the running configuration uses, else fresh ones, to be
// written at start (conf.new_keys). Logs what is wrong and answers conf_error.
char* load_keys(ngx_conf_t* cf, MainConf& conf) noexcept;

// This module's configuration in the cycle that is running while a new one is read; nullptr at start.
MainConf* running_conf(ngx_conf_t* cf) noexcept;

}  // namespace fairway::ngx
