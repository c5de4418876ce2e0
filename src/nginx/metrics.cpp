#include "nginx/metrics.h"

namespace fairway::ngx {

ngx_int_t metrics_handler(ngx_http_request_t* r) noexcept {
  if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
    return NGX_HTTP_NOT_ALLOWED;
  }
  return NGX_HTTP_NO_CONTENT;
}

}  // namespace fairway::ngx
