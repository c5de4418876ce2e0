// PREACCESS: a request to a location with a room asks it once, before authentication and the application.
#include "nginx/answer.h"
#include "nginx/redirect_path.h"
#include "nginx/room_question.h"

namespace fairway::ngx {

namespace {

ngx_uint_t client_status(const Reply& reply) noexcept {
  return reply.kind == page::Kind::unavailable ? NGX_HTTP_SERVICE_UNAVAILABLE : NGX_HTTP_TOO_MANY_REQUESTS;
}

ngx_int_t answer(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Verdict& verdict) noexcept {
  Worker::get()->count(room, visit.outcome);
  if (loc_conf(r)->dry_run == 1) {
    return NGX_DECLINED;
  }
  switch (verdict.action) {
    case Verdict::Action::through:
      return NGX_DECLINED;
    case Verdict::Action::redirect_to_check:
      return finish(r, send_redirect(r, visit, NGX_HTTP_MOVED_TEMPORARILY, check_path(r, room)));
    case Verdict::Action::refuse_prefetch:
      return finish(r, send_empty(r, visit, NGX_HTTP_SERVICE_UNAVAILABLE));
    case Verdict::Action::reply:
      if (is_page_request(visit)) {
        return finish(r, send_page(r, visit, room, verdict.reply));
      }
      return finish(r, send_json(r, visit, room, verdict.reply, client_status(verdict.reply)));
    case Verdict::Action::failed:
    case Verdict::Action::ask:  // never comes here
      break;
  }
  return NGX_HTTP_INTERNAL_SERVER_ERROR;
}

}  // namespace

ngx_int_t preaccess_handler(ngx_http_request_t* r) noexcept {
  const LocConf* conf = loc_conf(r);
  if (conf->room == nullptr || conf->own_endpoint || r != r->main || r->err_status != 0) {
    return NGX_DECLINED;  // err_status: an error page, not the application
  }
  Visit* visit = get_visit(r);
  Worker* worker = Worker::get();
  if (visit == nullptr || worker == nullptr) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (visit->room != nullptr) {
    return NGX_DECLINED;  // decided: internal redirects do not ask again
  }
  visit->room = conf->room;
  Gate gate(r, *visit, *conf->room, *worker);
  return pursue(r, *visit, *worker, gate, gate.decide(), answer);
}

}  // namespace fairway::ngx
