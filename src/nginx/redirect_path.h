// The round trip through the cookie check: where to, and back.
#pragma once

#include <string_view>

#include "nginx/config.h"

namespace fairway::ngx {

// /__fairway/NAME/check?to=<path and query of this request, percent-encoded>; empty when memory is short.
std::string_view check_path(ngx_http_request_t* r, const RoomConf& room) noexcept;
// The `to` argument of a check request as a safe Location; "/" for anything that is not a path of this site.
std::string_view checked_target(ngx_http_request_t* r) noexcept;

}  // namespace fairway::ngx
