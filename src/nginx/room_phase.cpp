// PREACCESS: a request to a location with a room asks it once, before authentication and the application.
#include "nginx/answer.h"
#include "nginx/gate.h"
#include "nginx/redirect_path.h"

namespace fairway::ngx {

namespace {

ngx_int_t answer(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Verdict& verdict) noexcept {
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
      return finish(r, send_json(r, visit, room, verdict.reply, NGX_HTTP_TOO_MANY_REQUESTS));
    case Verdict::Action::failed:
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
  const Verdict verdict = gate.decide();
  worker->count(*conf->room, visit->outcome);
  return conf->dry_run == 1 ? NGX_DECLINED : answer(r, *visit, *conf->room, verdict);
}

}  // namespace fairway::ngx
