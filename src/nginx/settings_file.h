// The operators' changes over a restart of nginx: one JSON file in the state folder, replaced as a whole after each change.
#pragma once

#include "nginx/config.h"
#include "nginx/shared.h"

namespace fairway::ngx {

// Writes the file when it is not that of the latest version; a worker of an older configuration leaves that to the newer ones. An error is
// logged once a minute and kept in the board; unless `at_once` (after a change), it is tried again every few seconds only.
void save_settings(const MainConf& conf, Shared& shared, ngx_log_t* log, bool at_once) noexcept;

// Called by the master once a new configuration counts, before workers start: reads the file into a fresh zone, then compares what was
// changed with what nginx.conf says now. Where the file says something else than when the change was made, the file wins, with a log
// line; so it does where a change is not allowed any more.
void restore_settings(MainConf& conf, ngx_log_t* log) noexcept;

}  // namespace fairway::ngx
