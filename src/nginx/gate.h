// What a room decides about one request: the visitor's flow of SPEC, from the tokens shown to a verdict. Where the store has to be
// asked it says so, and goes on with the answer: whoever owns it knows whether that takes a moment (room_question.h). Sends nothing.
#pragma once

#include <optional>

#include "nginx/visit.h"
#include "nginx/worker.h"

namespace fairway::ngx {

// What a visitor who is not let through is told; one shape for the pages and the JSON.
struct Reply {
  page::Kind kind = page::Kind::waiting;
  std::string_view state = "waiting";  // of the JSON
  ngx_uint_t status = 429;
  std::uint32_t retry_after = 1;  // s
  std::uint64_t rank = 0;         // 0: not told
  std::uint64_t waiting = 0;
  std::optional<std::uint32_t> eta;  // s
  bool paused = false;
  bool stale = false;
  std::string_view retry_url;  // of the cookies page: where the visitor wanted to go
};

struct Verdict {
  enum class Action : std::uint8_t { through, redirect_to_check, reply, refuse_prefetch, failed, ask };
  Action action = Action::through;
  Reply reply;
};

// What the store said to a question.
struct StoreAnswer {
  bool down = false;  // it could not be asked, or did not answer: nothing is known
  room::Answer answer;
  room::Summary summary;
};

class Gate {
 public:
  Gate(ngx_http_request_t* r, Visit& visit, const RoomConf& room, Worker& worker) noexcept;

  // Each of these may answer that the store has to be asked `question()` first; so may go_on().
  Verdict decide() noexcept;  // a request to a location with a room
  Verdict status() noexcept;  // GET status: never makes a place
  Verdict leave() noexcept;   // POST leave: frees what the tokens shown name
  const room::Operation& question() const noexcept { return question_; }
  Verdict go_on(const StoreAnswer& answer) noexcept;

  bool shows_token() noexcept;  // check
  const RoomConf& room() const noexcept { return room_; }

 private:
  struct Shown {
    bool pass = false;    // a valid one, not ended
    bool ticket = false;  // a valid one, or a pass expired less than return_grace ago
    bool read_tickets = false;
    Token pass_token, ticket_token;
  };

  void read(TokenKind kind) noexcept;
  bool has_ticket() noexcept;  // looks for one on first use: a young pass needs none
  void consider(std::string_view text, TokenKind kind, const Network& network) noexcept;
  bool bypassed() const noexcept;
  bool young(const Token& pass) const noexcept;
  bool is_subresource() const noexcept;

  using Next = Verdict (Gate::*)(const room::Answer& answer) noexcept;
  Verdict ask(room::Kind kind, const Token& token, Next next) noexcept;

  Verdict heartbeat() noexcept;
  Verdict after_heartbeat(const room::Answer& answer) noexcept;
  Verdict enter() noexcept;
  Verdict after_enter(const room::Answer& answer) noexcept;
  Verdict enter_open() noexcept;
  Verdict after_enter_open(const room::Answer& answer) noexcept;
  Verdict after_status(const room::Answer& answer) noexcept;
  Verdict end(const Token& token, Next next) noexcept;
  Verdict after_leave(const room::Answer& answer) noexcept;
  Verdict after_both(const room::Answer& answer) noexcept;
  Verdict newcomer() noexcept;
  Verdict enter_without_store() noexcept;
  Verdict status_without_store() noexcept;
  Verdict unavailable() noexcept;
  Verdict act_on(const room::Answer& answer, const Token& token) noexcept;
  Reply describe(const room::Answer& answer) noexcept;
  Reply simple(page::Kind kind, std::string_view state, std::uint32_t retry_after) noexcept;
  Verdict closed(const Token& token, const room::Answer& answer) noexcept;
  Verdict busy(const Token& token, std::uint32_t retry_after) noexcept;

  room::Operation operation(room::Kind kind, const Token& token) const noexcept;
  void give_ticket(const Sid& sid, std::uint64_t epoch, std::uint64_t number) noexcept;
  void give_pass(const Sid& sid, const room::Answer& answer) noexcept;
  void renew_pass(const Token& pass) noexcept;
  void give_unseen_pass(const Sid& sid) noexcept;
  void give_pass(const Token& pass) noexcept;
  std::string_view sign(const Token& token) noexcept;
  Verdict settle(Verdict::Action action, Outcome outcome, const Reply& reply = {}) noexcept;
  void name(const Token& token) noexcept;
  std::uint32_t jitter(std::uint32_t seconds) noexcept;

  ngx_http_request_t* r_;
  Visit& visit_;
  const RoomConf& room_;
  Worker& worker_;
  std::int64_t now_;  // Unix seconds
  Shown shown_;
  bool counts_ = false;   // enter: it would be a new session
  bool allowed_ = false;  // … and one more may come from its address

  room::Operation question_;
  Token asked_;  // whom the question is about
  Next next_ = nullptr;
  bool down_ = false;      // the latest question had no answer
  room::Summary summary_;  // of the latest answer
};

// Frees the session's slot or place and refuses its tokens from now on, everywhere in this gateway.
void end_session(Worker& worker, const RoomConf& room, const Token& token) noexcept;

}  // namespace fairway::ngx
