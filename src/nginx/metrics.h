// `fairway_metrics`: the counters as Prometheus text.
#pragma once

#include "nginx/ngx.h"

namespace fairway::ngx {

// Content handler of the location.
ngx_int_t metrics_handler(ngx_http_request_t* r) noexcept;

}  // namespace fairway::ngx
