// Locations that nginx answers by itself before a room is asked.
#pragma once

#include "nginx/config.h"

namespace fairway::ngx {

// Warns when the location being merged, which is under `conf.room`, begins with an unconditional `return`, or a rewrite that redirects
// every request.
void warn_of_return(ngx_conf_t* cf, const LocConf& conf) noexcept;

}  // namespace fairway::ngx
