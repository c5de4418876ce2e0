// The console below a location with `fairway_api`: its page at the root, and the visitor's pages as a preview of what a room shows.
#pragma once

#include "nginx/api.h"

namespace fairway::ngx {

// `path` is what follows the location's own: empty for the page, "preview/ROOM/PAGE" with the name of a page. Throws Refusal.
ngx_int_t console(ngx_http_request_t* r, Visit& visit, Worker& worker, std::string_view path);

}  // namespace fairway::ngx
