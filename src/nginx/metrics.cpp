#include "nginx/metrics.h"

#include "nginx/config.h"
#include "nginx/metrics_text.h"

namespace fairway::ngx {

ngx_int_t metrics_handler(ngx_http_request_t* r) noexcept {
  if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
    return NGX_HTTP_NOT_ALLOWED;
  }
  ngx_http_complex_value_t body{};
  try {
    MetricsText text;
    write_room_metrics(text);
    write_queue_metrics(text, *main_conf(r));
    body.value = copy(r->pool, text.view());
  } catch (...) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (body.value.data == nullptr) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  ngx_str_t type = str("text/plain; version=0.0.4; charset=utf-8");
  return ngx_http_send_response(r, NGX_HTTP_OK, &type, &body);
}

}  // namespace fairway::ngx
