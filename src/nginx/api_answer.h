// How calls of the API are answered: at once, as a problem, or in several turns of the event loop.
#pragma once

#include "nginx/api.h"

namespace fairway::ngx {

// RFC 9457.
ngx_int_t send_problem(ngx_http_request_t* r, Visit& visit, const Refusal& refusal, std::string_view allow = {});
ngx_int_t send_answer(ngx_http_request_t* r, Visit& visit, const ApiAnswer& answer);
// For an answer with `go_on`. NGX_DONE: it comes later, and takes the request's count with it.
ngx_int_t begin_later(ngx_http_request_t* r, Visit& visit, ApiAnswer answer);

// Runs `function`, which may throw, and sends what it refuses.
template <class Function>
ngx_int_t guarded(ngx_http_request_t* r, Visit& visit, Function function) noexcept {
  try {
    try {
      return function();
    } catch (const Refusal& refusal) {
      return send_problem(r, visit, refusal);
    }
  } catch (...) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
}

}  // namespace fairway::ngx
