#include "nginx/console.h"

#include "nginx/api_answer.h"
#include "page/console.h"

namespace fairway::ngx {

namespace {

constexpr std::string_view kPreview = "preview/";
constexpr std::uint32_t kNever = 86'400;  // s: a preview does not ask again

struct Shown {
  std::string_view name;
  page::Kind kind;
};

constexpr Shown kShown[] = {{"waiting", page::Kind::waiting},         {"busy", page::Kind::busy}, {"closed", page::Kind::closed},
                            {"unavailable", page::Kind::unavailable}, {"left", page::Kind::left}, {"cookies", page::Kind::cookies},
                            {"unprocessed", page::Kind::unprocessed}};

[[noreturn]] void refuse_path() {
  throw Refusal{404, "There is no such page; api/openapi.json tells what there is.", ""};
}

page::Kind kind_of(std::string_view name) {
  for (const Shown& shown : kShown) {
    if (shown.name == name) {
      return shown.kind;
    }
  }
  refuse_path();
}

// The page that somebody in the middle of a line would see, with the room's own words.
ngx_int_t preview(ngx_http_request_t* r, Visit& visit, Worker& worker, std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) {
    refuse_path();
  }
  worker.live().follow();
  const ApiCall call{r, visit, worker, path.substr(0, slash), {}};
  Reply reply;
  reply.kind = kind_of(path.substr(slash + 1));
  reply.status = NGX_HTTP_OK;
  reply.rank = 128;
  reply.waiting = 342;
  reply.eta = 420;
  reply.retry_after = kNever;
  return send_page(r, visit, call.room(), reply);
}

}  // namespace

ngx_int_t console(ngx_http_request_t* r, Visit& visit, Worker& worker, std::string_view path) {
  if (!is_read(r)) {
    return send_problem(r, visit, {405, "This resource takes GET, HEAD.", ""}, "GET, HEAD");
  }
  if (path.starts_with(kPreview)) {
    return preview(r, visit, worker, path.substr(kPreview.size()));
  }
  if (!path.empty()) {
    refuse_path();
  }
  Body body;
  body.form = Form::html;
  body.text = page::console_html;
  visit.policy = page::console_policy;
  return send_body(r, visit, body);
}

}  // namespace fairway::ngx
