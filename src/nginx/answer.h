// Fairway's own responses: pages, JSON, redirects. Each carries exactly one Cache-Control: no-store and a policy of its own (the
// header filter sees to that), ignores conditional and Range headers and never goes through error_page.
#pragma once

#include <string_view>

#include "nginx/gate.h"

namespace fairway::ngx {

enum class Form : std::uint8_t { html, json, problem, text };

struct Body {
  ngx_uint_t status = 200;
  Form form = Form::text;
  std::string_view text;          // lives as long as the request
  std::uint32_t retry_after = 0;  // s; 0: no header
  std::string_view allow;         // of a 405
  std::string_view etag;          // empty: none
  std::string_view location;      // empty: none
};

// All of these return what the handler of a phase hands to finish().
ngx_int_t send_body(ngx_http_request_t* r, Visit& visit, const Body& body) noexcept;
ngx_int_t send_redirect(ngx_http_request_t* r, Visit& visit, ngx_uint_t status, std::string_view location) noexcept;
ngx_int_t send_empty(ngx_http_request_t* r, Visit& visit, ngx_uint_t status) noexcept;
ngx_int_t send_page(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Reply& reply) noexcept;
ngx_int_t send_json(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Reply& reply, ngx_uint_t status) noexcept;

// Ends a request that a phase handler answered itself; for the handler to return.
ngx_int_t finish(ngx_http_request_t* r, ngx_int_t rc) noexcept;

// A response header; false when memory is short. `name` must be a literal.
bool add_header(ngx_http_request_t* r, std::string_view name, std::string_view value) noexcept;

}  // namespace fairway::ngx
