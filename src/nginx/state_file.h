// What a gateway remembers over a restart of nginx: of each room its last epoch and counts, and the sessions that ended. One
// small text file in the state folder, replaced as a whole, at most once a second and when a worker exits.
#pragma once

#include "nginx/config.h"
#include "nginx/shared.h"

namespace fairway::ngx {

// Writes the file when something in it changed; a worker of an older configuration leaves that to the newer ones. An error is logged once
// a minute and kept in `shared`; unless `at_once`, it is tried again every few seconds only.
void save_state(const MainConf& conf, Shared& shared, ngx_log_t* log, bool at_once) noexcept;
// Reads it into a fresh zone; a line that is not understood is passed over. Called by the master before workers start.
void restore_state(const MainConf& conf, ngx_log_t* log) noexcept;

}  // namespace fairway::ngx
