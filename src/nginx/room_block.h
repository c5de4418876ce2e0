// The inside of `waiting_room NAME { … }`.
#pragma once

#include "nginx/config.h"

namespace fairway::ngx {

// Reads the block's directives into `room`, whose name is set; checks them together. Logs what is wrong with file and line and
// answers conf_error.
char* parse_room_block(ngx_conf_t* cf, RoomConf& room) noexcept;

// Sets what follows from the name: cookies and paths. conf_error when memory is short.
char* derive(ngx_pool_t* pool, RoomConf& room) noexcept;

}  // namespace fairway::ngx
