// /__fairway/…: answered in SERVER_REWRITE, before the location search, so that rewrites, access rules and authentication of the
// site do not apply.
#include "nginx/answer.h"
#include "nginx/redirect_path.h"
#include "nginx/room_question.h"

namespace fairway::ngx {

namespace {

constexpr std::string_view kRoot = "/__fairway/";

ngx_int_t refuse(ngx_http_request_t* r, Visit& visit, ngx_uint_t status, std::string_view text, std::string_view allow = {}) noexcept {
  Body body;
  body.status = status;
  body.text = text;
  body.allow = allow;
  return finish(r, send_body(r, visit, body));
}

ngx_int_t wrong_method(ngx_http_request_t* r, Visit& visit, std::string_view allow) noexcept {
  return refuse(r, visit, NGX_HTTP_NOT_ALLOWED, "method not allowed\n", allow);
}

ngx_int_t health(ngx_http_request_t* r, Visit& visit) noexcept {
  return is_read(r) ? refuse(r, visit, NGX_HTTP_OK, "ok\n") : wrong_method(r, visit, "GET, HEAD");
}

ngx_int_t answer_status(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Verdict& verdict) noexcept {
  Reply reply = verdict.reply;
  if (verdict.action == Verdict::Action::through) {
    reply = {};
    reply.state = "admitted";
    reply.retry_after = 0;
  }
  return finish(r, send_json(r, visit, room, reply, NGX_HTTP_OK));
}

ngx_int_t status(ngx_http_request_t* r, Visit& visit, const RoomConf& room, Worker& worker) noexcept {
  if (!is_read(r)) {
    return wrong_method(r, visit, "GET, HEAD");
  }
  Gate gate(r, visit, room, worker);
  return pursue(r, visit, worker, gate, gate.status(), answer_status);
}

ngx_int_t check(ngx_http_request_t* r, Visit& visit, const RoomConf& room, Worker& worker) noexcept {
  if (!is_read(r)) {
    return wrong_method(r, visit, "GET, HEAD");
  }
  if (Gate(r, visit, room, worker).shows_token()) {
    return finish(r, send_redirect(r, visit, NGX_HTTP_MOVED_TEMPORARILY, checked_target(r)));
  }
  Reply reply;
  reply.kind = page::Kind::cookies;
  reply.retry_url = checked_target(r);
  reply.retry_after = 0;
  return finish(r, send_page(r, visit, room, reply));
}

ngx_int_t left(ngx_http_request_t* r, Visit& visit, const RoomConf& room) noexcept {
  if (!is_read(r)) {
    return wrong_method(r, visit, "GET, HEAD");
  }
  Reply reply;
  reply.kind = page::Kind::left;
  reply.status = NGX_HTTP_OK;
  reply.retry_after = 0;
  return finish(r, send_page(r, visit, room, reply));
}

ngx_int_t answer_leave(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Verdict&) noexcept {
  visit.clear = true;
  if (!is_page_request(visit)) {
    return finish(r, send_empty(r, visit, NGX_HTTP_NO_CONTENT));
  }
  const ngx_str_t path = concat(r->pool, view(room.path), "left");
  return finish(r, send_redirect(r, visit, NGX_HTTP_SEE_OTHER, view(path)));
}

ngx_int_t leave(ngx_http_request_t* r, Visit& visit, const RoomConf& room, Worker& worker) noexcept {
  if (r->method != NGX_HTTP_POST) {
    return wrong_method(r, visit, "POST");
  }
  Gate gate(r, visit, room, worker);
  const bool by_page = is_same_origin(r, visit) && visit.seen.fetch_site != "none";  // none: no page sent it
  if (!by_page || !gate.shows_token()) {
    return finish(r, send_empty(r, visit, NGX_HTTP_NO_CONTENT));
  }
  return pursue(r, visit, worker, gate, gate.leave(), answer_leave);
}

// A room that this server uses: by name, or attached by the console to the host that was asked for.
const RoomConf* room_named(ngx_http_request_t* r, Worker& worker, std::string_view name) noexcept {
  const SrvConf& server = *srv_conf(r);
  for (const RoomConf* room : std::span(static_cast<RoomConf**>(server.rooms.elts), server.rooms.nelts)) {
    if (view(room->name) == name) {
      return room;
    }
  }
  const RoomConf* room = server.any_auto ? worker.live().find(name) : nullptr;
  return room != nullptr && worker.live().has(host_of(r), *room) ? room : nullptr;
}

ngx_int_t endpoint(ngx_http_request_t* r, Visit& visit, Worker& worker, std::string_view path) noexcept {
  if (path == "health") {
    return health(r, visit);
  }
  const std::size_t slash = path.find('/');
  const RoomConf* room = room_named(r, worker, path.substr(0, slash));
  const std::string_view action = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  if (room != nullptr) {
    visit.room = room;
    if (action == "status") {
      return status(r, visit, *room, worker);
    }
    if (action == "check") {
      return check(r, visit, *room, worker);
    }
    if (action == "leave") {
      return leave(r, visit, *room, worker);
    }
    if (action == "left") {
      return left(r, visit, *room);
    }
  }
  return refuse(r, visit, NGX_HTTP_NOT_FOUND, "not found\n");
}

}  // namespace

ngx_int_t server_rewrite_handler(ngx_http_request_t* r) noexcept {
  if (r->internal || r != r->main || (srv_conf(r)->rooms.nelts == 0 && !srv_conf(r)->any_auto)) {
    return NGX_DECLINED;
  }
  Visit* visit = get_visit(r);
  Worker* worker = Worker::get();
  if (visit == nullptr || worker == nullptr || read_request(r, *visit) != NGX_OK) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  worker->live().follow();
  if (srv_conf(r)->any_auto) {
    visit->attached = worker->live().attached(host_of(r), view(r->uri));
  }
  const std::string_view path = view(r->uri);
  if (!path.starts_with(kRoot)) {
    return NGX_DECLINED;
  }
  return endpoint(r, *visit, *worker, path.substr(kRoot.size()));
}

}  // namespace fairway::ngx
