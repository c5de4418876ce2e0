// The state folder: made and tidied by the master at start, written by the workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "nginx/config.h"
#include "nginx/open_file.h"

namespace fairway::ngx {

// The user and group of the workers; false when they are this process's own.
bool worker_owner(ngx_cycle_t* cycle, uid_t& user, gid_t& group) noexcept;

// Makes the folder when it is missing and takes away what killed workers left in it half written. False, and a line in the log, when the
// workers cannot use it. May throw std::bad_alloc.
bool prepare_state(ngx_cycle_t* cycle, const MainConf& conf);

// One writer at a time, over all workers, so that an older text never comes to lie over a newer one; a writer that dies lets go.
class FolderLock {
 public:
  // `wait`: until nobody else writes. Without it, or where the folder knows no locks, it may be that it is not held.
  FolderLock(const MainConf& conf, bool wait) noexcept;
  bool is_busy() const noexcept { return busy_; }  // somebody else writes

 private:
  File folder_;
  bool busy_ = false;
};

// Puts `text` in place of the file, whole or not at all; false with errno. `lasting`: also if the machine stops right afterwards.
// May throw std::bad_alloc.
bool replace_file(const std::string& path, std::string_view text, bool lasting);

// Whether a file of the state folder may be tried now: after a failure at `failed` (Unix seconds; 0: none) only every few seconds.
bool is_time_to_save(std::int64_t failed) noexcept;
// A line in the log, over all workers once a minute; `last_log`: Unix seconds.
void log_not_saved(const MainConf& conf, std::atomic<std::int64_t>& last_log, ngx_log_t* log, const char* what, ngx_err_t error) noexcept;

}  // namespace fairway::ngx
