// The inside of `fair_queue NAME { … }`.
#pragma once

#include "nginx/config.h"

namespace fairway::ngx {

// Reads the block's directives into `queue`, whose name is set; checks them together. Logs what is wrong with file and line and
// answers conf_error.
char* parse_queue_block(ngx_conf_t* cf, QueueConf& queue) noexcept;

}  // namespace fairway::ngx
