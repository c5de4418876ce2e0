// The fair queue's half of the directives: `fair_queue NAME { … }`, its use in locations, its shared zone.
#pragma once

#include "nginx/config.h"

namespace fairway::ngx {

// The block; a setter for the table of commands.
char* define_queue(ngx_conf_t* cf, ngx_command_t* command, void* data) noexcept;
// The words of a location, inherited or resolved.
ngx_int_t merge_queue(ngx_conf_t* cf, const LocConf& above, LocConf& conf) noexcept;
// One zone a queue.
char* make_queue_zones(ngx_conf_t* cf, MainConf& conf) noexcept;
void warn_of_idle_queues(ngx_conf_t* cf, const MainConf& conf) noexcept;

// True when the site streams request bodies of this location to the upstream (proxy_request_buffering off and its likes).
bool streams_bodies(ngx_http_request_t* r) noexcept;

}  // namespace fairway::ngx
