#include "nginx/answer.h"

#include <charconv>
#include <string>

namespace fairway::ngx {

namespace {

constexpr ngx_uint_t kUnprocessableContent = 422;

std::string_view content_type(Form form) noexcept {
  switch (form) {
    case Form::html:
      return "text/html; charset=utf-8";
    case Form::json:
      return "application/json";
    case Form::problem:
      return "application/problem+json";
    case Form::text:
      break;
  }
  return "text/plain; charset=utf-8";
}

// Starts a response of our own on a request whose headers nothing has touched yet. Anything but NGX_OK is nginx's word on a body that
// is none.
ngx_int_t start(ngx_http_request_t* r, Visit& visit, ngx_uint_t status) noexcept {
  r->expect_tested = 1;  // no 100-continue for a body that nobody reads
  if (const ngx_int_t rc = ngx_http_discard_request_body(r); rc != NGX_OK) {
    return rc;
  }
  visit.own_answer = true;
  r->headers_out.status = status;
  if (status == kUnprocessableContent) {  // the one of ours for which nginx has no phrase
    r->headers_out.status_line = str("422 Unprocessable Content");
  }
  r->disable_not_modified = 1;
  r->allow_ranges = 0;
  return NGX_OK;
}

std::string_view number_text(ngx_http_request_t* r, std::uint64_t number) noexcept {
  auto* text = static_cast<char*>(ngx_pnalloc(r->pool, NGX_INT64_LEN));
  if (text == nullptr) {
    return {};
  }
  return {text, static_cast<std::size_t>(std::to_chars(text, text + NGX_INT64_LEN, number).ptr - text)};
}

page::Values values_of(const RoomConf& room, const Reply& reply) noexcept {
  page::Values values;
  values.room = view(room.name);
  values.status_url = view(room.status_path);
  values.leave_url = view(room.leave_path);
  values.retry_url = reply.retry_url;
  values.message = room.message;
  values.rank = reply.rank;
  values.waiting = reply.waiting;
  values.eta = reply.eta;
  values.retry_after = reply.retry_after;
  values.paused = reply.paused;
  values.stale = reply.stale;
  return values;
}

std::string json_of(const RoomConf& room, const Visit& visit, const Reply& reply) {
  std::string json;
  page::append_json(values_of(room, reply), reply.state, visit.our_cookies().empty() ? visit.ticket : std::string_view{}, json);
  return json.append("\n");
}

std::string html_of(const RoomConf& room, Visit& visit, const Reply& reply, page::Kind kind) {
  const page::Language language = page::choose_language(visit.seen.accept_language);
  visit.custom_page = kind == page::Kind::waiting && room.page != nullptr;
  std::string html;
  html.reserve(16 * 1024);
  (visit.custom_page ? *room.page : page::builtin(kind, language)).render(values_of(room, reply), language, html);
  return html;
}

// The answer to a held POST says that nothing was processed and never reloads by itself: that would send it again.
page::Kind kind_for(const ngx_http_request_t* r, page::Kind kind) noexcept {
  return is_read(r) ? kind : page::Kind::unprocessed;
}

}  // namespace

bool add_header(ngx_http_request_t* r, std::string_view name, std::string_view value) noexcept {
  auto* header = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
  if (header == nullptr) {
    return false;
  }
  header->hash = 1;
  header->key = str(name);
  header->value = str(value);
  header->lowcase_key = nullptr;
  return true;
}

ngx_int_t send_body(ngx_http_request_t* r, Visit& visit, const Body& body) noexcept {
  if (const ngx_int_t rc = start(r, visit, body.status); rc != NGX_OK) {
    return rc;
  }
  visit.html_policy = body.form == Form::html;
  r->headers_out.content_type = str(content_type(body.form));
  r->headers_out.content_type_len = r->headers_out.content_type.len;
  r->headers_out.content_length_n = static_cast<off_t>(body.text.size());
  if (body.retry_after != 0 && !add_header(r, "Retry-After", number_text(r, body.retry_after))) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (!body.allow.empty() && !add_header(r, "Allow", body.allow)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  visit.etag = body.etag;
  if (!body.location.empty() && !add_header(r, "Location", body.location)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (const ngx_int_t rc = ngx_http_send_header(r); rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
    return rc;
  }
  ngx_buf_t* buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
  if (buffer == nullptr) {
    return NGX_ERROR;
  }
  buffer->start = buffer->pos = reinterpret_cast<u_char*>(const_cast<char*>(body.text.data()));
  buffer->end = buffer->last = buffer->pos + body.text.size();
  buffer->memory = body.text.empty() ? 0 : 1;
  buffer->last_buf = 1;
  buffer->last_in_chain = 1;
  ngx_chain_t out{buffer, nullptr};
  return ngx_http_output_filter(r, &out);
}

ngx_int_t send_empty(ngx_http_request_t* r, Visit& visit, ngx_uint_t status) noexcept {
  if (const ngx_int_t rc = start(r, visit, status); rc != NGX_OK) {
    return rc;
  }
  r->headers_out.content_length_n = 0;
  r->header_only = 1;
  if (status == NGX_HTTP_NO_CONTENT) {
    r->headers_out.content_length_n = -1;
  }
  return ngx_http_send_header(r);
}

ngx_int_t send_redirect(ngx_http_request_t* r, Visit& visit, ngx_uint_t status, std::string_view location) noexcept {
  // not r->headers_out.location: nginx would make it absolute
  if (location.empty() || !add_header(r, "Location", location)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  return send_empty(r, visit, status);
}

ngx_int_t send_page(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Reply& reply) noexcept {
  Body body;
  body.form = Form::html;
  const page::Kind kind = kind_for(r, reply.kind);
  body.status = kind == page::Kind::unprocessed && reply.status < NGX_HTTP_BAD_REQUEST ? NGX_HTTP_TOO_MANY_REQUESTS : reply.status;
  try {
    body.text = view(copy(r->pool, html_of(room, visit, reply, kind)));
  } catch (...) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (body.text.empty()) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  body.retry_after = reply.retry_after;
  return send_body(r, visit, body);
}

ngx_int_t send_json(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Reply& reply, ngx_uint_t status) noexcept {
  Body body;
  body.form = Form::json;
  body.status = status;
  try {
    body.text = view(copy(r->pool, json_of(room, visit, reply)));
  } catch (...) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (body.text.empty()) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  body.retry_after = reply.retry_after;
  return send_body(r, visit, body);
}

ngx_int_t finish(ngx_http_request_t* r, ngx_int_t rc) noexcept {
  ngx_http_finalize_request(r, rc);
  return NGX_DONE;
}

}  // namespace fairway::ngx
