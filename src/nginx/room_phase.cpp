// PREACCESS: a request to a location with a room asks it once, before authentication and the application.
#include "nginx/address.h"
#include "nginx/answer.h"
#include "nginx/redirect_path.h"
#include "nginx/room_question.h"

namespace fairway::ngx {

namespace {

ngx_uint_t client_status(const Reply& reply) noexcept {
  return reply.kind == page::Kind::unavailable ? NGX_HTTP_SERVICE_UNAVAILABLE : NGX_HTTP_TOO_MANY_REQUESTS;
}

// Notices what makes a room useless or harmful, for the warnings. To the cycle's log: nginx adds the request to lines of a connection's.
void look_out(ngx_http_request_t* r, const Visit& visit, const RoomConf& room, Worker& worker, const Verdict& verdict) noexcept {
  if (visit.outcome == Outcome::pass || visit.outcome == Outcome::bypassed) {
    return;
  }
  const ngx_str_t& address = r->connection->addr_text;
  const std::uint64_t hash = siphash(worker.shared().hash_key, address.data, address.len);
  if (worker.shared().one_address.warn(hash, static_cast<std::int64_t>(ngx_current_msec / 1'000) + 1)) {
    ngx_log_error(
        NGX_LOG_WARN, ngx_cycle->log, 0,
        "fairway: nearly all requests come from one address in %s: is \"set_real_ip_from\" missing, or does one client send nearly "
        "everything?",
        network_text(r->connection->sockaddr).data());
  }
  if (visit.named && worker.see(room, visit.session.sid, network_of(r->connection->sockaddr))) {
    ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                  "fairway: a session of waiting_room \"%V\" was seen from more than 8 networks: its cookies may have been passed on",
                  &room.name);
  }
  const bool by_program = visit.seen.fetch_site.empty() && visit.seen.origin.empty();
  if (verdict.action != Verdict::Action::through && r->method == NGX_HTTP_POST && (by_program || is_cross_site_write(r, visit))) {
    const std::int64_t before = room.row->held_post.exchange(ngx_time(), std::memory_order_relaxed);
    if (ngx_time() - before >= OneAddress::kQuiet) {
      ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                    "fairway: waiting_room \"%V\" held a POST from another site or from a program: such paths belong under \"waiting_room "
                    "off\"",
                    &room.name);
    }
  }
}

ngx_int_t answer(ngx_http_request_t* r, Visit& visit, const RoomConf& room, const Verdict& verdict) noexcept {
  Worker& worker = *Worker::get();
  worker.count(room, visit.outcome);
  look_out(r, visit, room, worker, verdict);
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
  const bool is_auto = conf->use_room.kind == Use::Kind::automatic;
  if ((conf->room == nullptr && !is_auto) || conf->own_endpoint || r != r->main || r->err_status != 0) {
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
  const RoomConf* room = is_auto ? visit->attached : conf->room;
  if (room == nullptr) {
    return NGX_DECLINED;  // the console attached none here
  }
  visit->room = room;
  Gate gate(r, *visit, *room, *worker);
  return pursue(r, *visit, *worker, gate, gate.decide(), answer);
}

}  // namespace fairway::ngx
