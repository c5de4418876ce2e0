#include "nginx/api_answer.h"

namespace fairway::ngx {

namespace {

constexpr ngx_msec_t kSlice = 5;          // ms of one turn of the event loop
constexpr std::uint32_t kRetryAfter = 2;  // s; of 503

std::string_view title_of(ngx_uint_t status) noexcept {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

ngx_int_t send(ngx_http_request_t* r, Visit& visit, Body body, std::string_view text) noexcept {
  const ngx_str_t copied = copy(r->pool, text);
  if (copied.data == nullptr) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  body.text = view(copied);
  return send_body(r, visit, body);
}

// An answer that takes several turns of the event loop, so that visitors are served in between.
struct Later {
  ngx_http_request_t* r;
  Visit& visit;
  ApiAnswer answer;
  ngx_event_t event{};

  ~Later() { unpost(&event); }
  Later(ngx_http_request_t* request, Visit& its_visit, ApiAnswer its_answer)
      : r(request), visit(its_visit), answer(std::move(its_answer)) {}
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;
};

void go_on(ngx_event_t* event) noexcept {
  auto& later = *static_cast<Later*>(event->data);
  ngx_http_request_t* r = later.r;
  ngx_connection_t* connection = r->connection;
  ngx_http_set_log_request(connection->log, r);
  bool done = false;
  const ngx_int_t rc = guarded(r, later.visit, [&] {
    const std::uint64_t until = steady_clock_ms() + kSlice;
    do {
      later.answer.waits = false;
      done = later.answer.go_on(later.answer);
    } while (!done && !later.answer.waits && steady_clock_ms() <= until);
    return done ? send_answer(r, later.visit, later.answer) : NGX_AGAIN;
  });
  if (rc == NGX_AGAIN && !done) {
    if (later.answer.waits) {
      return;
    }
    ngx_post_event(event, &ngx_posted_next_events);
    return;
  }
  ngx_http_finalize_request(r, rc);
  ngx_http_run_posted_requests(connection);
}

}  // namespace

ngx_int_t send_problem(ngx_http_request_t* r, Visit& visit, const Refusal& refusal, std::string_view allow) {
  Json problem = {{"type", "about:blank"}, {"title", title_of(refusal.status)}, {"status", refusal.status}, {"detail", refusal.detail}};
  if (!refusal.field.empty()) {
    problem["field"] = refusal.field;
  }
  Body body;
  body.status = refusal.status;
  body.form = Form::problem;
  body.allow = view(copy(r->pool, allow));
  body.retry_after = refusal.status == NGX_HTTP_SERVICE_UNAVAILABLE ? kRetryAfter : 0;
  return send(r, visit, body, problem.dump() + "\n");
}

ngx_int_t send_answer(ngx_http_request_t* r, Visit& visit, const ApiAnswer& answer) {
  if (answer.status == NGX_HTTP_NO_CONTENT) {
    return send_empty(r, visit, answer.status);
  }
  Body body;
  body.status = answer.status;
  body.form = Form::json;
  body.etag = view(copy(r->pool, answer.etag));
  body.location = view(copy(r->pool, answer.location));
  return send(r, visit, body, answer.text.empty() ? answer.json.dump() + "\n" : answer.text);
}

ngx_int_t begin_later(ngx_http_request_t* r, Visit& visit, ApiAnswer answer) {
  auto* later = make_owned<Later>(r->pool, r, visit, std::move(answer));
  if (later == nullptr) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  later->event.handler = go_on;
  later->event.data = later;
  later->event.log = r->connection->log;
  later->answer.wake = &later->event;
  post(&later->event);
  return NGX_DONE;
}

}  // namespace fairway::ngx
