// Values that need nginx's own parsers or pools; the others are in operate/values.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "nginx/ngx.h"
#include "operate/values.h"

namespace fairway::ngx {

using operate::is_room_name;
using operate::is_utf8;

// nginx's size form: "32m", "512k", "1g".
std::optional<std::size_t> parse_bytes(std::string_view text) noexcept;

// The three in a row; data is nullptr when memory is short.
ngx_str_t joined(ngx_pool_t* pool, std::string_view before, std::string_view middle, std::string_view after) noexcept;

}  // namespace fairway::ngx
