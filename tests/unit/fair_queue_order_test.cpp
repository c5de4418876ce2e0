// Who is next: keys, clocks, debts, reservation.
#include "core/cost_estimates.h"
#include "core/queue_clock.h"
#include "queue_fixture.h"

namespace fairway::queue {
namespace {

using FairQueueOrder = testing::QueueTest;

TEST_F(FairQueueOrder, LeastDebtIsNext) {
  make(1);
  Handle running = start(client(1));
  const Handle mine = wait(client(1));
  const Handle other = wait(client(2));
  pass(100 * ms);
  end(running);
  EXPECT_EQ(granted(), std::vector<Handle>{other});  // though it came later
  pass(100 * ms);
  end(other);
  EXPECT_EQ(granted(), std::vector<Handle>{mine});
}

TEST_F(FairQueueOrder, SessionsOfANetworkShareWhatItGets) {
  make(1);
  const Handle running = start(client(1, 0));
  const Handle mine = wait(client(1, 0));
  const Handle neighbour = wait(client(1, 1));
  pass(100 * ms);
  end(running);
  EXPECT_EQ(granted(), std::vector<Handle>{neighbour});
  pass(100 * ms);
  end(neighbour);
  EXPECT_EQ(granted(), std::vector<Handle>{mine});
}

TEST_F(FairQueueOrder, EqualFlowsAreServedByArrival) {
  make(1);
  Handle running = start(client(1));
  std::vector<Handle> waiting;
  for (std::uint32_t i = 2; i < 8; ++i) waiting.push_back(wait(client(i)));
  for (const Handle expected : waiting) {
    pass(10 * ms);
    end(running);
    EXPECT_EQ(granted(), std::vector<Handle>{expected});
    running = expected;
  }
}

// Averages with α = 1/4, per session and per network.
TEST_F(FairQueueOrder, AveragesMoveByAQuarter) {
  make(2);
  use(client(1), 100 * ms);
  EXPECT_EQ(session_record(client(1)).average, 100 * ms);
  use(client(1), 200 * ms);
  EXPECT_EQ(session_record(client(1)).average, 125 * ms);
  use(client(1, 1), 25 * ms);
  EXPECT_EQ(session_record(client(1, 1)).average, 25 * ms);
  EXPECT_EQ(network_record(client(1)).average, 100 * ms);
}

// Reservation: clamp(max(own average, maximum of the location with half-life 10 s), 1 ms, 1 s).
TEST_F(FairQueueOrder, ReservesWhatTheLocationHasCostLately) {
  make(2);
  const auto reserved = [this](std::uint64_t cost_class) { return estimate(tables(), kNone, kNone, cost_class); };
  EXPECT_EQ(reserved(5), 1 * ms);
  use(client(1), 800 * ms, 5);
  EXPECT_NEAR(static_cast<double>(reserved(5)), 800e6, 1e6);
  EXPECT_EQ(reserved(6), 1 * ms);
  pass(10 * s);
  use(client(2), 1 * ms, 6);  // brings the queue's clock along
  EXPECT_NEAR(static_cast<double>(reserved(5)), 400e6, 1e6);
  use(client(2), 7 * s, 5);
  EXPECT_EQ(reserved(5), 1 * s);
  const std::uint32_t network = peek_network(tables(), client(1));
  EXPECT_EQ(estimate(tables(), network, kNone, 7), 800 * ms);
}

// A running request is charged its reservation at once, its time as it exceeds that, and its real cost in the end.
TEST_F(FairQueueOrder, ChargesAccrueAndAreTruedUp) {
  make(2);
  use(client(9), 100 * ms);  // the location's maximum is now 100 ms
  const Handle a = start(client(1));
  const std::uint32_t flow = tables().network_flow(peek_network(tables(), client(1)));
  const Nanos before = tables().flows[flow].settled;
  EXPECT_EQ(flow_key(tables(), flow) - before, 100 * ms);
  pass(300 * ms);
  queue->tick(now);
  EXPECT_EQ(flow_key(tables(), flow) - before, 300 * ms);
  end(a, {.cost = 50 * ms});
  EXPECT_EQ(flow_key(tables(), flow) - before, 50 * ms);
}

// H1: a clock is never behind the least key among the flows that wait: a newcomer does not inherit a minute of somebody's lead.
TEST_F(FairQueueOrder, TheClockKeepsUpWithThoseWhoWait) {
  make(4);
  std::vector<Handle> running;
  for (int i = 0; i < 4; ++i) running.push_back(start(client(1)));
  for (int i = 0; i < 40; ++i) wait(client(1));
  for (int round = 0; round < 300; ++round) {  // a light client that is always active slows the fluid clock down
    pass(100 * ms);
    end(running.front());
    running.erase(running.begin());
    for (const Handle h : granted()) running.push_back(h);
    if (round % 2 == 0) ask(client(2));
    for (const Handle h : granted()) running.push_back(h);
    if (queue->waiting() < 20) {
      for (int i = 0; i < 20; ++i) wait(client(1));
    }
  }
  const Level& root = tables().levels[kRootLevel];
  Nanos least = flow_key(tables(), root.waiting.first);
  for (std::uint32_t f = root.waiting.first; f != kNone; f = tables().flows[f].sibling.next) least = std::min(least, flow_key(tables(), f));
  wait(client(3));
  EXPECT_GE(root.clock, least);
}

// Burst: a flow that just became busy may be 20 ms behind the clock, at both levels, and no more however long it was away.
TEST_F(FairQueueOrder, IdlenessEarnsOneBurst) {
  make(1);
  make_known(client(2));
  for (int i = 0; i < 100; ++i) use(client(1), 1 * s);
  for (int i = 0; i < 100; ++i) use(client(2, 1), 1 * s);  // its neighbour
  for (int i = 0; i < 100; ++i) use(client(1), 1 * s);
  start(client(1));
  wait(client(2));
  const std::uint32_t network = peek_network(tables(), client(2));
  const std::uint32_t outer = tables().network_flow(network);
  const std::uint32_t inner = tables().session_flow(peek_session(tables(), client(2).inner, network));
  EXPECT_EQ(flow_key(tables(), outer), tables().levels[kRootLevel].clock - 20 * ms);
  EXPECT_EQ(flow_key(tables(), inner), tables().levels[tables().network_level(network)].clock - 20 * ms);
}

// Nothing is earned by being slow either: a flow that always runs one request starts anew by the clock (anti-windup).
TEST_F(FairQueueOrder, SlownessEarnsNoCredit) {
  make(8);
  const Handle slow = start(client(1));
  for (int i = 0; i < 600; ++i) {  // a minute in which others get much more
    std::vector<Handle> handles;
    for (int k = 0; k < 7; ++k) handles.push_back(start(client(2)));
    pass(100 * ms);
    for (const Handle h : handles) end(h);
  }
  start(client(1));
  const std::uint32_t flow = tables().network_flow(peek_network(tables(), client(1)));
  EXPECT_GE(flow_key(tables(), flow), tables().levels[kRootLevel].clock - 20 * ms);
  end(slow);
}

// max_debt applies to a flow that comes back after a third of debt_ttl; idle debt has halved by then and is gone at debt_ttl.
TEST_F(FairQueueOrder, IdleDebtIsForgivenInSteps) {
  make(8);
  const auto debt_after = [this](std::uint32_t number, Nanos debt, Nanos idle) {
    const Handle other = start(client(99));  // so that the clock moves half as fast as the key
    const Handle h = start(client(number));
    pass(1 * ms);
    end(h, {.cost = 2 * debt});
    end(other, {.free = true});
    pass(idle);
    queue->tick(now);
    const Nanos told = info(client(number)).debt;
    const Decision d = ask(client(number));  // what counts when it comes back
    EXPECT_EQ(told, d.debt);
    end(d.handle, {.free = true});
    return static_cast<double>(told) / 1e9;
  };
  EXPECT_NEAR(debt_after(1, 4 * s, 0), 4, 0.01);
  EXPECT_NEAR(debt_after(2, 4 * s, 9900 * ms), 4, 0.01);
  EXPECT_NEAR(debt_after(3, 4 * s, 10 * s), 2, 0.01);
  EXPECT_NEAR(debt_after(4, 4 * s, 20 * s), 1, 0.01);
  EXPECT_NEAR(debt_after(5, 4 * s, 30 * s), 0, 0.01);
  EXPECT_NEAR(debt_after(6, 60 * s, 9 * s), 60, 0.01);  // no cap for one that never idles
  EXPECT_NEAR(debt_after(7, 60 * s, 10 * s), 5, 0.01);
  EXPECT_NEAR(debt_after(8, 60 * s, 29 * s), 5, 0.01);
}

// What a waiting flow is owed by those who hold the slots is bounded, lest newcomers wait until it has caught up.
TEST_F(FairQueueOrder, CreditIsBounded) {
  make(8);
  for (int i = 0; i < 8; ++i) start(client(1));
  wait(client(2));
  pass(60 * s);
  wait(client(3));
  const std::uint32_t second = tables().network_flow(peek_network(tables(), client(2)));
  const std::uint32_t third = tables().network_flow(peek_network(tables(), client(3)));
  EXPECT_EQ(flow_key(tables(), third) - flow_key(tables(), second), 5 * s);
}

// Reported costs of any unit keep keys and clock together: who reports little does not lag behind for newcomers to wait for.
TEST_F(FairQueueOrder, TheClockCountsWhatIsCharged) {
  make(1);
  Handle running = start(client(1));
  for (int i = 0; i < 1000; ++i) {
    if (queue->waiting() == 0) wait(client(1));
    pass(100 * ms);
    end(running, {.cost = 1 * ms});
    running = granted().at(0);
  }
  const std::uint32_t flow = tables().network_flow(peek_network(tables(), client(1)));
  EXPECT_LT(tables().levels[kRootLevel].clock - tables().flows[flow].settled, 2 * s);
}

}  // namespace
}  // namespace fairway::queue
