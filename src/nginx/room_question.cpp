#include "nginx/room_question.h"

#include "nginx/store_client.h"
#include "nginx/task.h"

namespace fairway::ngx {

namespace {

// One request that waits for a shared store. Lies in the cleanup chain of its request: whatever ends that, withdraws the question.
class Errand final : public Asker {
 public:
  Errand(ngx_http_request_t* r, Visit& visit, Worker& worker, const Gate& gate, Answering answer) noexcept
      : r_(r), visit_(visit), worker_(worker), gate_(gate), answer_(answer) {}

  // NGX_DONE: suspended.
  ngx_int_t start(const Verdict& verdict) noexcept;
  void cancel() noexcept { task_ = Task{}; }
  void answered(const valkey::Completion& completion) noexcept override;

 private:
  class Reply;
  static Task run(ngx_http_request_t* r, Errand& errand);
  ngx_int_t conclude() noexcept;

  ngx_http_request_t* r_;
  Visit& visit_;
  Worker& worker_;
  Gate gate_;
  Answering answer_;
  Verdict verdict_;
  StoreAnswer said_;
  Task task_;
};

// Waits for the store's reply to the gate's question.
class Errand::Reply {
 public:
  explicit Reply(Errand& errand) noexcept : errand_(errand) {}
  ~Reply() {
    if (ticket_ != 0) {
      errand_.worker_.store()->withdraw(ticket_);
    }
  }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) noexcept {
    ticket_ = errand_.worker_.store()->ask(errand_, errand_.gate_.room(), errand_.gate_.question());
    if (ticket_ == 0) {
      errand_.said_ = {true, {}, {}};
    }
    return ticket_ != 0;
  }
  StoreAnswer await_resume() noexcept {
    ticket_ = 0;
    return errand_.said_;
  }

 private:
  Errand& errand_;
  StoreClient::Ticket ticket_ = 0;
};

Task Errand::run(ngx_http_request_t*, Errand& errand) {
  while (errand.verdict_.action == Verdict::Action::ask) {
    const StoreAnswer said = co_await Reply(errand);
    errand.verdict_ = errand.gate_.go_on(said);
  }
  co_return NGX_OK;
}

ngx_int_t Errand::conclude() noexcept {
  const bool done = task_.result() == NGX_OK;
  task_ = Task{};
  return done ? answer_(r_, visit_, gate_.room(), verdict_) : NGX_HTTP_INTERNAL_SERVER_ERROR;
}

ngx_int_t Errand::start(const Verdict& verdict) noexcept {
  verdict_ = verdict;
  task_ = run(r_, *this);
  if (!task_.exists()) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  task_.resume();
  if (task_.done()) {
    return conclude();
  }
  ngx_event_t* read = r_->connection->read;
  r_->read_event_handler = ngx_http_test_reading;
  r_->write_event_handler = ngx_http_request_empty_handler;
  if (read->ready != 0) {
    post(read);
  } else if (ngx_handle_read_event(read, 0) != NGX_OK) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  return NGX_DONE;
}

void Errand::answered(const valkey::Completion& completion) noexcept {
  said_.answer = completion.answer;
  said_.summary = completion.summary;
  said_.down = completion.outcome != valkey::Outcome::answered && completion.outcome != valkey::Outcome::no_memory;
  if (completion.outcome == valkey::Outcome::no_memory) {
    said_.answer.state = room::State::no_memory;
  }
  ngx_http_request_t* r = r_;
  ngx_connection_t* c = r->connection;
  ngx_http_set_log_request(c->log, r);
  task_.resume();
  if (!task_.done()) {
    return;  // there is another question
  }
  r->read_event_handler = ngx_http_block_reading;
  r->write_event_handler = ngx_http_core_run_phases;
  const ngx_int_t rc = ngx_handle_read_event(c->read, 0) == NGX_OK ? conclude() : NGX_HTTP_INTERNAL_SERVER_ERROR;
  // from here on the request, and with it this object, may be gone
  if (rc == NGX_DECLINED) {
    ngx_http_core_run_phases(r);
  } else if (rc != NGX_DONE) {
    ngx_http_finalize_request(r, rc);
  }
  ngx_http_run_posted_requests(c);
}

ngx_int_t suspend(ngx_http_request_t* r, Visit& visit, Worker& worker, const Gate& gate, const Verdict& verdict,
                  Answering answer) noexcept {
  ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, sizeof(Errand));
  if (cleanup == nullptr) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  auto* errand = new (cleanup->data) Errand(r, visit, worker, gate, answer);
  cleanup->handler = [](void* data) { static_cast<Errand*>(data)->cancel(); };
  return errand->start(verdict);
}

}  // namespace

ngx_int_t pursue(ngx_http_request_t* r, Visit& visit, Worker& worker, Gate& gate, Verdict verdict, Answering answer) noexcept {
  if (verdict.action == Verdict::Action::ask && worker.store() != nullptr) {
    return suspend(r, visit, worker, gate, verdict, answer);
  }
  while (verdict.action == Verdict::Action::ask) {
    StoreAnswer said;
    const room::Operation question = gate.question();
    said.summary = worker.call(gate.room(), {&question, 1}, {&said.answer, 1});
    verdict = gate.go_on(said);
  }
  return answer(r, visit, gate.room(), verdict);
}

}  // namespace fairway::ngx
