#include "core/fair_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/light_lane.h"
#include "core/queue_clock.h"
#include "core/queue_full.h"
#include "core/queue_slots.h"
#include "core/queue_tables.h"

namespace fairway::queue {
namespace {

constexpr Nanos kChurnToken = kMillisecond;  // what an abandoned wait costs

// `enrolled`: the records of the client already count the request.
bool starts_at_once(const Tables& t, const Client& client, bool enrolled) noexcept {
  if (!slot_free(t)) return false;
  if (t.limits().order == Order::fifo) return t.heart().waiting_count == 0;
  if (client.inner != kNone && t.flows[client.inner].waiting_count != 0) return false;  // behind the others of its flow
  return lane_admits(t, {client.network, client.session, client.outer}, enrolled ? 1 : 0);
}

Nanos cost_of(const Outcome& outcome, Nanos held) noexcept {
  return outcome.free ? 0 : std::max<Nanos>(0, outcome.cost.value_or(held));
}

// A key has completed a request: it is proven when it comes again.
void note_finished(Tables& t, const Request& r) noexcept {
  const auto more = [](std::uint32_t& finished) { finished += finished != std::numeric_limits<std::uint32_t>::max(); };
  more(t.networks[r.network].finished);
  if (r.session != kNone) more(t.sessions[r.session].finished);
}

}  // namespace

// Time never goes back, whatever the processes' clocks say.
void FairQueue::step(Nanos now) noexcept {
  t_.head->now = std::max(t_.head->now, now);
}

WorkerSet FairQueue::take_wakes() noexcept {
  return std::exchange(t_.wakes, {});
}

Decision FairQueue::acquire(const Arrival& arrival, Nanos now) noexcept {
  step(now);
  Client client = identify(t_, arrival.keys);
  dispatch(t_);  // what time or a proof has opened goes to those who wait
  const bool direct = starts_at_once(t_, client, false);
  if (!direct && t_.heart().waiting_count >= t_.limits().size && !make_room(client)) return refuse(arrival, client);
  return admit(arrival, client, direct);
}

Decision FairQueue::admit(const Arrival& arrival, Client& client, bool direct) noexcept {
  if (t_.heart().free_requests.empty()) return refuse(arrival, client);
  enroll(t_, arrival.keys, client);
  const std::uint32_t index = new_request(t_, arrival, client);
  const Nanos debt = flow_debt(t_, client.outer);
  if (is_light(t_, {client.network, client.session, client.outer})) note_light_arrival(t_, arrival.keys.inner);
  if (direct || starts_at_once(t_, client, true)) {  // its records may tell less of it than those it was found by
    begin_running(t_, index, t_.now());
    count_status(Status::direct);
    count_grant(t_.requests[index]);
    return {Decision::Kind::direct, handle_of(t_, index), 0, debt};
  }
  begin_waiting(t_, index);
  return {Decision::Kind::queued, handle_of(t_, index), 0, debt};
}

Decision FairQueue::refuse(const Arrival& arrival, const Client& client) noexcept {
  Decision decision;
  decision.retry_after = book_retry(t_, client, arrival.cost_class);
  if (client.outer != kNone) decision.debt = flow_debt(t_, client.outer);
  count_status(Status::full);
  return decision;
}

bool FairQueue::make_room(const Client& client) noexcept {
  if (t_.limits().order == Order::fifo || t_.heart().free_requests.empty()) return false;
  const std::uint32_t victim = victim_for(t_, client);
  if (victim == kNone) return false;
  hold(t_, client.network, client.session);  // lest the victim's records, which may be the same, be dropped
  evict(victim);
  let_go(t_, client.network, client.session);
  return true;
}

void FairQueue::evict(std::uint32_t index) noexcept {
  Request& r = t_.requests[index];
  const Client client{r.network, r.session, r.outer, r.inner};
  stop_waiting(t_, index, 0);
  r.state = State::evicted;
  r.retry_after = book_retry(t_, client, r.cost_class);
  r.started = t_.now();  // when it ended
  let_keys_go(t_, index, true);
  send_mail(t_, index);
  count_status(Status::evicted);
}

std::optional<Nanos> FairQueue::release(Handle handle, const Outcome& outcome, Nanos now) noexcept {
  step(now);
  const std::uint32_t index = find_request(t_, handle);
  if (index == kNone || t_.requests[index].state != State::running) return std::nullopt;
  const Request& r = t_.requests[index];
  const Nanos cost = cost_of(outcome, t_.now() - r.started);
  stop_running(t_, index, cost, !outcome.free);
  if (!outcome.free) t_.head->totals.costs.add(cost);
  if (!outcome.free && outcome.finished) note_finished(t_, r);
  forget(t_, index);
  dispatch(t_);
  return cost;
}

CancelResult FairQueue::cancel(Handle handle, Nanos now) noexcept {
  step(now);
  const std::uint32_t index = find_request(t_, handle);
  if (index == kNone) return CancelResult::unknown;
  const State state = t_.requests[index].state;
  if (state == State::running) return CancelResult::running;
  if (state != State::waiting) withdraw_mail(t_, index);
  if (state == State::waiting) stop_waiting(t_, index, kChurnToken);
  if (state == State::granted) stop_running(t_, index, kChurnToken, false);
  forget(t_, index);
  if (state == State::evicted) return CancelResult::evicted;
  count_status(Status::cancelled);
  dispatch(t_);
  return CancelResult::cancelled;
}

TimeoutResult FairQueue::timeout(Handle handle, Nanos now) noexcept {
  step(now);
  const std::uint32_t index = find_request(t_, handle);
  if (index == kNone || t_.requests[index].state == State::running) return {};
  Request& r = t_.requests[index];
  const State state = r.state;
  if (state != State::waiting) withdraw_mail(t_, index);
  if (state == State::granted) {
    r.state = State::running;
    count_status(Status::queued);
    count_grant(r);
    return {TimeoutResult::Kind::granted, 0, r.started - r.arrived};
  }
  TimeoutResult result{TimeoutResult::Kind::evicted, r.retry_after, t_.now() - r.arrived};
  if (state == State::waiting) {
    const Client client{r.network, r.session, r.outer, r.inner};
    stop_waiting(t_, index, 0);
    result = {TimeoutResult::Kind::timed_out, book_retry(t_, client, r.cost_class), t_.now() - r.arrived};
    count_status(Status::timeout);
  }
  forget(t_, index);
  dispatch(t_);
  return result;
}

std::optional<Mail> FairQueue::next_mail(std::uint32_t worker, Nanos now) noexcept {
  step(now);
  const std::uint32_t index = t_.workers[worker].mail.first;
  if (index == kNone) return std::nullopt;
  withdraw_mail(t_, index);
  Request& r = t_.requests[index];
  Mail mail{Mail::Kind::granted, handle_of(t_, index), r.token, r.started - r.arrived, r.retry_after};
  if (r.state == State::evicted) {
    mail.kind = Mail::Kind::evicted;
    forget(t_, index);
    return mail;
  }
  r.state = State::running;
  count_status(Status::queued);
  count_grant(r);
  return mail;
}

void FairQueue::count_grant(const Request& r) noexcept {
  t_.head->totals.waits.add(r.started - r.arrived);
  t_.head->totals.recent_waits.add(r.started - r.arrived, t_.now());
}

void FairQueue::tick(Nanos now) noexcept {
  step(now);
  dispatch(t_);
}

}  // namespace fairway::queue
