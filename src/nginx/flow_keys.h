// Who a request is to a fair queue.
#pragma once

#include "core/flow.h"
#include "nginx/config.h"

namespace fairway::ngx {

FlowKeys flow_keys(ngx_http_request_t* r, const QueueConf& conf, const SipKey& secret) noexcept;

}  // namespace fairway::ngx
