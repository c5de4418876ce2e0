#include "nginx/ngx.h"

namespace {

ngx_http_module_t context = {};

}  // namespace

extern "C" {
ngx_module_t ngx_http_fairway_module = {
    NGX_MODULE_V1, &context, nullptr, NGX_HTTP_MODULE, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, NGX_MODULE_V1_PADDING,
};
}
