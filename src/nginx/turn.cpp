// PRECONTENT: a request to a location with a fair queue takes a slot after access checks and after its body was read, before the
// upstream is contacted, and gives it back when the upstream part ends.
#include "nginx/turn.h"

#include "nginx/answer.h"
#include "nginx/block.h"
#include "nginx/flow_keys.h"
#include "nginx/queue_conf.h"
#include "nginx/queue_dry_run.h"
#include "nginx/queue_worker.h"
#include "nginx/reported_cost.h"
#include "nginx/worker.h"

namespace fairway::ngx {

namespace {

void acquire(Turn& turn) noexcept {
  if (turn.dry_run) {
    rehearse(turn);
  } else {
    turn.client->acquire(turn);
  }
}

// Goes on with a request that was suspended. Nothing of the turn may be touched afterwards: the phases may end the request.
void advance(Turn& turn) noexcept {
  ngx_http_request_t* r = turn.r;
  r->read_event_handler = ngx_http_block_reading;
  r->write_event_handler = ngx_http_core_run_phases;
  turn.task.resume();
  if (turn.task.done()) {
    ngx_http_core_run_phases(r);
  }
}

void on_body(ngx_http_request_t* r) noexcept {
  Turn& turn = *find_turn(r);
  turn.body_done = true;
  if (!turn.body_sync) {
    r->preserve_body = 1;
    advance(turn);
  }
}

// Reads the request body as the upstream modules would, before a slot is asked for: slow uploads hold none.
class Body {
 public:
  Body(ngx_http_request_t* r, Turn& turn) noexcept : r_(r), turn_(turn) {}
  bool await_ready() noexcept {
    turn_.body_sync = true;
    result_ = ngx_http_read_client_request_body(r_, on_body);
    turn_.body_sync = false;
    if (result_ >= NGX_HTTP_SPECIAL_RESPONSE) {
      r_->read_event_handler = ngx_http_block_reading;  // nginx leaves its reader there, which would end the request once more
      return true;
    }
    result_ = NGX_OK;
    if (turn_.body_done) {
      --r_->main->count;  // nothing to wait for, so the reference that reading took is given back here
      r_->preserve_body = 1;
    } else {
      turn_.phase = Turn::Phase::reading;
    }
    return turn_.body_done;
  }
  void await_suspend(std::coroutine_handle<>) noexcept {}
  ngx_int_t await_resume() const noexcept { return result_; }

 private:
  ngx_http_request_t* r_;
  Turn& turn_;
  ngx_int_t result_ = NGX_OK;
};

void on_turn_event(ngx_event_t* event) noexcept;

// Waits until the turn is granted or refused; the client's leaving ends the request meanwhile.
class Slot {
 public:
  explicit Slot(Turn& turn) noexcept : turn_(turn) {}
  bool await_ready() const noexcept { return turn_.phase != Turn::Phase::waiting; }
  void await_suspend(std::coroutine_handle<>) noexcept {
    ngx_http_request_t* r = turn_.r;
    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = ngx_http_request_empty_handler;
    add_timer(&turn_.event, static_cast<ngx_msec_t>(turn_.conf->limits.timeout / queue::kMillisecond));
    if (r->connection->read->ready) {
      post(r->connection->read);
    } else {
      (void)ngx_handle_read_event(r->connection->read, 0);
    }
  }
  void await_resume() const noexcept {}

 private:
  Turn& turn_;
};

Task take_turn(ngx_http_request_t* r, Turn& turn, bool body_first) {
  if (body_first) {
    const ngx_int_t rc = co_await Body(r, turn);
    if (rc != NGX_OK) {
      co_return rc;
    }
    acquire(turn);
  }
  co_await Slot(turn);
  co_return turn.phase == Turn::Phase::running ? NGX_DECLINED : NGX_HTTP_SERVICE_UNAVAILABLE;
}

void on_turn_event(ngx_event_t* event) noexcept {
  Turn& turn = *static_cast<Turn*>(event->data);
  ngx_http_request_t* r = turn.r;
  ngx_connection_t* c = r->connection;
  if (turn.phase == Turn::Phase::ending) {
    release_slot(turn, turn.outcome);
    return;
  }
  if (turn.phase == Turn::Phase::waiting) {
    turn.client->time_out(turn);
  }
  ngx_http_set_log_request(c->log, r);
  if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
    ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
    return;
  }
  advance(turn);
  ngx_http_run_posted_requests(c);
}

void end_soon(Turn& turn, const queue::Outcome& outcome) noexcept {
  turn.outcome = outcome;
  turn.phase = Turn::Phase::ending;
  post(&turn.event);
}

// In place of u->finalize_request, the one moment that every upstream part passes exactly once.
void on_upstream_end(ngx_http_request_t* r, ngx_int_t rc) noexcept {
  Turn& turn = *find_turn(r);
  turn.finalize(r, rc);
  if (turn.phase == Turn::Phase::running) {
    end_soon(turn, upstream_outcome(turn));
  }
}

// In place of the location's content handler: puts the hook into the upstream that it makes.
ngx_int_t content_handler(ngx_http_request_t* r) noexcept {
  Turn& turn = *find_turn(r);
  r->content_handler = turn.content;
  const ngx_int_t rc = turn.content(r);
  ngx_http_upstream_t* upstream = r->upstream;
  if (turn.phase != Turn::Phase::running) {
    return rc;
  }
  const bool over = rc != NGX_DONE && rc != NGX_AGAIN;
  if (over && (upstream == nullptr || (upstream->cleanup == nullptr && upstream->state == nullptr))) {
    end_soon(turn, {std::nullopt, true, false});  // a file, an error: no upstream took part
  } else if (upstream == nullptr) {
    return rc;
  } else if (upstream->finalize_request != on_upstream_end) {
    turn.upstream = upstream;
    turn.finalize = upstream->finalize_request;
    upstream->finalize_request = on_upstream_end;
    if (upstream->cleanup == nullptr && upstream->state != nullptr) {  // it has ended already
      end_soon(turn, upstream_outcome(turn));
    }
  }
  return rc;
}

bool has_body(const ngx_http_request_t* r) noexcept {
#if (NGX_HTTP_V2)
  if (r->stream != nullptr) {
    return !r->stream->in_closed;
  }
#endif
  return r->headers_in.content_length_n > 0 || r->headers_in.chunked;
}

// A gRPC call may be answered before its body ends, and a site may stream uploads to its application: those cannot wait for it.
bool body_comes_first(ngx_http_request_t* r) noexcept {
  constexpr std::string_view kGrpc = "application/grpc";
  return has_body(r) && r->request_body == nullptr && !streams_bodies(r) &&
         !(r->headers_in.content_type != nullptr && view(r->headers_in.content_type->value).starts_with(kGrpc));
}

ngx_int_t settle(Turn& turn, ngx_int_t rc) noexcept {
  if (rc == NGX_DECLINED) {
    turn.content = turn.r->content_handler;
    turn.r->content_handler = content_handler;
  }
  return rc;
}

ngx_int_t start(ngx_http_request_t* r, Turn& turn, const QueueConf& conf, QueueClient& client) noexcept {
  turn.r = r;
  turn.dry_run = loc_conf(r)->dry_run == 1;
  turn.conf = &conf;
  turn.client = &client;
  turn.event.handler = on_turn_event;
  turn.event.data = &turn;
  turn.event.log = r->connection->log;
  turn.upstream = nullptr;
  turn.finalize = nullptr;
  turn.blocked = 0;
  turn.blocked_since = 0;
  turn.arrival.keys = flow_keys(r, conf, client.hash_key());
  watch_address(r, client);
  turn.arrival.cost_class = loc_conf(r)->cost_class;
  const bool body_first = body_comes_first(r);
  if (!body_first) {
    acquire(turn);
    if (turn.phase == Turn::Phase::running) {
      return settle(turn, NGX_DECLINED);
    }
    if (turn.phase == Turn::Phase::refused) {
      return NGX_HTTP_SERVICE_UNAVAILABLE;
    }
  }
  turn.body_done = false;
  turn.task = take_turn(r, turn, body_first);
  if (!turn.task.exists()) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  turn.task.resume();
  if (turn.task.done()) {
    return settle(turn, turn.task.result());
  }
  if (turn.phase == Turn::Phase::reading) {
    ngx_http_finalize_request(r, NGX_DONE);
    return NGX_DONE;
  }
  return NGX_AGAIN;
}

// A tunnel or an endless stream: what it cost up to now is charged, and the slot goes to somebody else.
bool is_stream(const ngx_http_request_t* r) noexcept {
  constexpr std::string_view kEventStream = "text/event-stream";
  return r->headers_out.status == NGX_HTTP_SWITCHING_PROTOCOLS || view(r->headers_out.content_type).starts_with(kEventStream);
}

// Without a call of the application. One that renews the cache in the background, by a subrequest of this request, keeps the slot until
// the request is gone, which waits for it.
bool is_answered_from_cache(const ngx_http_request_t* r) noexcept {
#if (NGX_HTTP_CACHE)
  return r->cached != 0 && (r->cache == nullptr || r->cache->background == 0);
#else
  (void)r;
  return false;
#endif
}

}  // namespace

bool turn_sees_headers(ngx_http_request_t* r) noexcept {
  Turn* turn = find_turn(r);
  if (turn == nullptr) {
    return true;
  }
  if (turn->phase == Turn::Phase::running && (is_answered_from_cache(r) || is_stream(r))) {
    end_soon(*turn, upstream_outcome(*turn));
  }
  if (turn->phase != Turn::Phase::refused) {
    return true;
  }
  auto* text = static_cast<u_char*>(ngx_pnalloc(r->pool, NGX_INT64_LEN));
  return text != nullptr &&
         add_header(r, "Retry-After",
                    {reinterpret_cast<char*>(text), static_cast<std::size_t>(ngx_sprintf(text, "%uD", turn->retry_after) - text)});
}

// While a response is passed on as it comes, or its buffers are full, the upstream waits for the client: that time is not its cost.
void turn_sees_body(ngx_http_request_t* r) noexcept {
  Turn* turn = find_turn(r);
  if (turn == nullptr || turn->phase != Turn::Phase::running || turn->upstream == nullptr) {
    return;
  }
  const ngx_http_upstream_t& upstream = *turn->upstream;
  const bool blocked =
      r->connection->buffered != 0 && (!upstream.buffering || (upstream.pipe != nullptr && upstream.pipe->upstream_blocked != 0));
  if (blocked && turn->blocked_since == 0) {
    turn->blocked_since = steady_clock_ns();
  } else if (!blocked && turn->blocked_since != 0) {
    turn->blocked += steady_clock_ns() - turn->blocked_since;
    turn->blocked_since = 0;
  }
}

ngx_int_t precontent_handler(ngx_http_request_t* r) noexcept {
  const LocConf* conf = loc_conf(r);
  if (conf->queue == nullptr || r != r->main || r->content_handler == nullptr) {
    return NGX_DECLINED;  // no content handler: a static file
  }
  Worker::follow();
  QueueClient* client = QueueWorker::client(*conf->queue);
  Turn* turn = get_turn(r);
  if (client == nullptr || turn == nullptr) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (turn->phase == Turn::Phase::refused && r->err_status != 0) {
    return NGX_DECLINED;  // the site's page that says so
  }
  if (turn->phase == Turn::Phase::reading && !turn->task.done()) {  // the body went wrong, and this is the site's page that says so
    turn->task = Task{};
    turn->phase = Turn::Phase::idle;
    r->read_event_handler = ngx_http_block_reading;  // as above in Body
  }
  if (turn->task.exists() && turn->phase != Turn::Phase::idle) {  // back after a wait
    if (!turn->task.done()) {
      return NGX_AGAIN;
    }
    const ngx_int_t rc = turn->task.result();
    turn->task = Task{};
    return settle(*turn, rc);
  }
  if (turn->phase == Turn::Phase::running && turn->conf == conf->queue &&
      turn->dry_run == (conf->dry_run == 1)) {  // redirected before any upstream ended: the slot is its own already
    return settle(*turn, NGX_DECLINED);
  }
  give_back(*turn);
  if (any_true(r, conf->queue->bypass)) {
    turn->has_status = true;
    turn->status = queue::Status::bypassed;
    client->count_bypass();
    return NGX_DECLINED;
  }
  return start(r, *turn, *conf->queue, *client);
}

}  // namespace fairway::ngx
