// Carries a gate's questions to the store, and its verdict to whoever answers the request. The memory store answers by plain calls;
// a shared one takes a moment, in which the request is suspended: it goes on once, with the answer, or ends before, with its client.
#pragma once

#include "nginx/gate.h"

namespace fairway::ngx {

// Answers the request: NGX_DECLINED lets it go on through the phases, NGX_DONE: it was answered, anything else is a status.
using Answering = ngx_int_t (*)(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Verdict& verdict) noexcept;

// For a phase handler to return. `verdict` is what `gate` said first; `gate` is copied when the request has to wait.
ngx_int_t pursue(ngx_http_request_t* r, Visit& visit, Worker& worker, Gate& gate, Verdict verdict, Answering answer) noexcept;

}  // namespace fairway::ngx
