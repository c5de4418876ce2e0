// `fairway_metrics`: the counters as Prometheus text.
#pragma once

#include "nginx/config.h"
#include "nginx/ngx.h"

namespace fairway::ngx {

class MetricsText;

// Content handler of the location.
ngx_int_t metrics_handler(ngx_http_request_t* r) noexcept;

// Its parts; may throw std::bad_alloc.
void write_room_metrics(MetricsText& text);
void write_queue_metrics(MetricsText& text, const MainConf& conf);

}  // namespace fairway::ngx
