// The description of the API, api/openapi.json; its source is src/nginx/openapi.json.
#pragma once

#include <string_view>

namespace fairway::ngx {

std::string_view openapi_text() noexcept;

}  // namespace fairway::ngx
