// The life of a request and of its slot.
#include "core/fair_queue.h"

#include "allocations.h"
#include "queue_fixture.h"

namespace fairway::queue {
namespace {

using FairQueueTest = testing::QueueTest;
using Kind = Decision::Kind;

TEST_F(FairQueueTest, RunsUpToConcurrencyAndQueuesTheRest) {
  make(2);
  const Handle a = start(client(1));
  start(client(2));
  const Handle waiting = wait(client(3));
  EXPECT_EQ(queue->running(), 2U);
  EXPECT_EQ(queue->waiting(), 1U);
  EXPECT_TRUE(mail().empty());

  pass(30 * ms);
  end(a);
  const std::vector<Mail> letters = mail();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].kind, Mail::Kind::granted);
  EXPECT_EQ(letters[0].handle, waiting);
  EXPECT_EQ(letters[0].token, 3U);
  EXPECT_EQ(letters[0].waited, 30 * ms);
  EXPECT_TRUE(queue->take_wakes().test(worker));
  EXPECT_FALSE(queue->take_wakes().any());
  EXPECT_EQ(queue->running(), 2U);
}

TEST_F(FairQueueTest, EachRequestEndsInOneStatus) {
  make({.concurrency = 1, .size = 2, .probation = false});
  const Handle direct = start(client(1));
  const Handle queued = wait(client(2));
  const Handle left = wait(client(3));
  EXPECT_EQ(ask(client(4)).kind, Kind::full);
  EXPECT_EQ(queue->cancel(left, now), CancelResult::cancelled);
  const Handle late = wait(client(5));
  EXPECT_EQ(queue->timeout(late, now).kind, TimeoutResult::Kind::timed_out);
  queue->count_bypass();
  end(direct);
  EXPECT_EQ(granted(), std::vector<Handle>{queued});
  end(queued);
  for (const Status status : {Status::direct, Status::queued, Status::full, Status::cancelled, Status::timeout, Status::bypassed}) {
    EXPECT_EQ(queue->total(status), 1U) << static_cast<int>(status);
  }
  EXPECT_EQ(queue->total(Status::evicted), 0U);
  EXPECT_EQ(queue->running(), 0U);
}

TEST_F(FairQueueTest, AHandleEndsOnce) {
  make(1);
  const Handle a = start(client(1));
  end(a);
  EXPECT_FALSE(queue->release(a, {}, now));
  EXPECT_EQ(queue->cancel(a, now), CancelResult::unknown);
  EXPECT_EQ(queue->timeout(a, now).kind, TimeoutResult::Kind::unknown);
  const Handle b = start(client(1));
  EXPECT_NE(a, b);
  EXPECT_FALSE(queue->release(a, {}, now));
  EXPECT_EQ(queue->cancel(b, now), CancelResult::running);
  EXPECT_EQ(queue->timeout(b, now).kind, TimeoutResult::Kind::unknown);
  EXPECT_FALSE(queue->release(0, {}, now));
  EXPECT_FALSE(queue->release(~Handle{0}, {}, now));
}

TEST_F(FairQueueTest, AGrantThatNobodyWantsIsPassedOn) {
  make(1);
  const Handle running = start(client(1));
  const Handle first = wait(client(2));
  const Handle second = wait(client(3));
  end(running);
  EXPECT_EQ(queue->cancel(first, now), CancelResult::cancelled);  // its grant had not been read
  EXPECT_EQ(granted(), std::vector<Handle>{second});
  EXPECT_EQ(queue->total(Status::queued), 1U);
  EXPECT_EQ(queue->total(Status::cancelled), 1U);
}

TEST_F(FairQueueTest, AGrantBeatsTheTimer) {
  make(1);
  const Handle running = start(client(1));
  const Handle waiting = wait(client(2));
  pass(9 * s);
  end(running);
  pass(1 * s);
  const TimeoutResult result = queue->timeout(waiting, now);
  EXPECT_EQ(result.kind, TimeoutResult::Kind::granted);
  EXPECT_EQ(result.waited, 9 * s);
  EXPECT_TRUE(mail().empty());
  end(waiting);
  EXPECT_EQ(queue->total(Status::queued), 1U);
}

// T17: one waiter, all slots blocked.
TEST_F(FairQueueTest, ATimeoutSaysWhenToComeAgain) {
  make(1);
  start(client(1));
  const Handle waiting = wait(client(2));
  pass(queue->limits().timeout);
  const TimeoutResult result = queue->timeout(waiting, now);
  EXPECT_EQ(result.kind, TimeoutResult::Kind::timed_out);
  EXPECT_EQ(result.waited, 10 * s);
  EXPECT_GE(result.retry_after, 1U);
  EXPECT_EQ(queue->waiting(), 0U);
}

// T21: 300 at once, C = 8, 256 places, one client per /24, lane and probation off.
TEST_F(FairQueueTest, AcceptsExactlyWhatFits) {
  make(plain(8), {.outer_flows = 300, .inner_flows = 300, .concurrency = 8, .size = 256});
  int full = 0;
  for (std::uint32_t i = 0; i < 300; ++i) full += ask(client(i)).kind == Kind::full;
  EXPECT_EQ(full, 36);
  EXPECT_EQ(queue->running(), 8U);
  EXPECT_EQ(queue->waiting(), 256U);
  EXPECT_EQ(queue->total(Status::evicted), 0U);
}

TEST_F(FairQueueTest, FifoServesByArrivalAndRefusesTheArrival) {
  Limits limits = plain(1);
  limits.order = Order::fifo;
  limits.size = 4;
  make(limits);
  const Handle running = start(client(1));
  const Handle a = wait(client(1));
  const Handle b = wait(client(1));
  const Handle c = wait(client(2));
  const Handle d = wait(client(1));
  EXPECT_EQ(ask(client(3)).kind, Kind::full);
  Handle current = running;
  for (const Handle expected : {a, b, c, d}) {
    pass(100 * ms);
    end(current);
    EXPECT_EQ(granted(), std::vector<Handle>{expected});
    current = expected;
  }
  EXPECT_EQ(info(client(1)).cost, 300 * ms);  // charging stays
}

TEST_F(FairQueueTest, CostIsTheTimeHeldOrWhatIsReported) {
  make(2);
  Handle a = start(client(1));
  pass(40 * ms);
  EXPECT_EQ(queue->release(a, {}, now), 40 * ms);
  a = start(client(1));
  pass(40 * ms);
  EXPECT_EQ(queue->release(a, {.cost = 3 * s}, now), 3 * s);
  a = start(client(1));
  pass(40 * ms);
  EXPECT_EQ(queue->release(a, {.free = true}, now), 0);
  EXPECT_EQ(info(client(1)).cost, 3 * s + 40 * ms);
  EXPECT_EQ(queue->totals().costs.count, 2U);
}

// What costs nothing teaches nothing: neither averages nor the location nor proof.
TEST_F(FairQueueTest, FreeRequestsTeachNothing) {
  make({.concurrency = 2, .probation = true});
  const Handle a = start(client(1));
  pass(5 * s);
  end(a, {.free = true});
  EXPECT_EQ(session_record(client(1)).average, 0);
  EXPECT_EQ(session_record(client(1)).own.size, 0);
  use(client(1), 1 * ms);
  EXPECT_FALSE(info(client(1)).proven);
}

TEST_F(FairQueueTest, CancelledWaitsPayAToken) {
  make(1);
  start(client(1));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(queue->cancel(wait(client(2)), now), CancelResult::cancelled);
  EXPECT_EQ(info(client(2)).cost, 1 * s);
  EXPECT_EQ(queue->waiting(), 0U);
}

TEST_F(FairQueueTest, NewLimitsKeepDebtsAndWaitersAndDrain) {
  make(4);
  std::vector<Handle> running = start_all(4, client(1));
  const Handle a = wait(client(2));
  const Handle b = wait(client(3));
  pass(500 * ms);
  ASSERT_TRUE(queue->set_limits(plain(2), now));
  EXPECT_GT(info(client(1)).debt, 0);
  EXPECT_EQ(queue->waiting(), 2U);
  end(running[0]);
  end(running[1]);
  EXPECT_TRUE(granted().empty());  // four run down to two first
  EXPECT_EQ(queue->running(), 2U);
  end(running[2]);
  EXPECT_EQ(granted(), std::vector<Handle>{a});
  ASSERT_TRUE(queue->set_limits(plain(8), now));
  EXPECT_EQ(granted(), std::vector<Handle>{b});
}

TEST_F(FairQueueTest, RefusesLimitsThatCannotBe) {
  make(4);
  EXPECT_FALSE(queue->set_limits(plain(0), now));
  EXPECT_FALSE(queue->set_limits(plain(65), now));
  EXPECT_FALSE(queue->set_limits({.concurrency = 4, .size = 513}, now));
  EXPECT_FALSE(queue->set_limits({.concurrency = 4, .light_lane = 4}, now));
  EXPECT_EQ(queue->limits().concurrency, 4U);
  std::vector<unsigned char> small(1024);
  EXPECT_FALSE(FairQueue::create(small.data(), small.size(), {}, plain(4), {}));
}

TEST_F(FairQueueTest, TimeNeverGoesBack) {
  make(1);
  const Handle a = start(client(1));
  pass(100 * ms);
  EXPECT_EQ(queue->release(a, {}, now), 100 * ms);
  const Decision d = queue->acquire({worker, 9, client(1), 1}, now - 50 * ms);
  pass(10 * ms);
  EXPECT_EQ(queue->release(d.handle, {}, now), 10 * ms);
}

TEST_F(FairQueueTest, WaitsAndTopFlowsAreReported) {
  make(1);
  Handle running = start(client(1));
  for (std::uint32_t i = 2; i < 12; ++i) wait(client(i));
  for (std::uint32_t i = 2; i < 12; ++i) {
    pass(100 * ms);
    end(running);
    running = granted().at(0);
  }
  const Percentiles waits = queue->wait_percentiles();  // 0, 100, 200 … 1000 ms
  EXPECT_NEAR(static_cast<double>(waits.p50), 500e6, 100e6);
  EXPECT_NEAR(static_cast<double>(waits.p99), 1000e6, 200e6);
  pass(3 * s);
  end(running);
  std::array<FlowInfo, 3> top;
  ASSERT_EQ(queue->top(TopBy::cost, false, top), 3U);
  EXPECT_EQ(top[0].outer, network(11));
  EXPECT_EQ(top[0].cost, 3 * s);
  EXPECT_EQ(top[1].cost, 100 * ms);
  ASSERT_EQ(queue->top(TopBy::debt, true, top), 3U);
  EXPECT_TRUE(top[0].is_session);
  EXPECT_GE(top[0].debt, top[1].debt);
  EXPECT_GE(top[1].debt, top[2].debt);
  EXPECT_EQ(queue->top(TopBy::cost, false, {}), 0U);
}

// Arrivals, refusals, evictions, cancels, timeouts, new networks and sessions beyond the tables: all of it in what was taken at start.
TEST_F(FairQueueTest, NothingIsAllocatedAfterTheStart) {
  make(Limits{.concurrency = 4, .size = 8, .light_lane = 1}, {.outer_flows = 16, .inner_flows = 32, .concurrency = 8, .size = 16});
  std::array<Handle, 64> handles{};
  std::array<std::size_t, 4> seen{};  // direct, queued, full, mail
  const std::size_t before = test::allocations();
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    pass(7 * ms);
    Handle& handle = handles[i % handles.size()];
    if (queue->cancel(handle, now) == CancelResult::running) queue->release(handle, {}, now);
    if (i % 5 == 0) queue->timeout(handles[(i * 7) % handles.size()], now);
    const Decision decision = ask(client(i % 41, i % 3), i % 4);
    handle = decision.handle;
    ++seen[static_cast<std::size_t>(decision.kind)];
    while (queue->next_mail(worker, now)) ++seen[3];
    queue->tick(now);
    queue->take_wakes();
  }
  EXPECT_EQ(test::allocations(), before);
  for (const std::size_t count : seen) EXPECT_GT(count, 50U);
}

}  // namespace
}  // namespace fairway::queue
