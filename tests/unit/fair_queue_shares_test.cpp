// How slots are shared between flows: demand below and above the fair share, mixed lengths, idle and slow clients, reported costs,
// and the bound that post-paid cost leaves. Lane and probation are off here, but where said: the arithmetic of shares alone.
#include <gtest/gtest.h>

#include "queue_scenarios.h"

namespace fairway::sim::scenarios {
namespace {

Settings bare(std::uint32_t concurrency) {
  Settings settings;
  settings.limits.concurrency = concurrency;
  settings.limits.probation = false;
  return settings;
}

Clients client(const std::string& name, std::uint32_t network, std::uint32_t connections, Range service) {
  Clients clients = hog(connections, 0, 0);
  clients.name = name;
  clients.first_network = network;
  clients.service = service;
  return clients;
}

class Shares : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  Settings settings_ = bare(GetParam());
  double of(const Report& report, const std::string& name, int runs = 3) const { return share(settings_, report[name], runs); }
};
INSTANTIATE_TEST_SUITE_P(Concurrency, Shares, ::testing::Values(1, 2, 4, 8, 32),
                         [](const auto& info) { return "c" + std::to_string(info.param); });

TEST_P(Shares, OneFlowAloneHasEverything) {
  EXPECT_GE(of(play(settings_, {client("a", 1, 64, range(50, 150))}), "a"), 0.99);
}

// Max-min: who wants less than a fair share gets all of it, the others divide the rest.
TEST_P(Shares, DemandBelowTheFairShareIsMet) {
  Clients small = client("small", 1, 1, range(20, 20));
  small.think = range(180, 180);  // a tenth of a slot
  const Report report = play(settings_, {small, client("b", 2, 64, range(50, 50)), client("c", 3, 64, range(50, 50))});
  const double wanted = 0.1 / GetParam();
  EXPECT_GE(of(report, "small"), (GetParam() == 1 ? 0.6 : 0.85) * wanted);  // its own waits lower what it asks for
  EXPECT_NEAR(of(report, "b"), of(report, "c"), 0.02);
  EXPECT_GE(of(report, "small") + of(report, "b") + of(report, "c"), 0.99);
}

TEST_P(Shares, UnequalDemandAboveTheFairShareIsEqual) {
  const Report report =
      play(settings_, {client("a", 1, 40, range(100, 100)), client("b", 2, 60, range(100, 100)), client("c", 3, 100, range(100, 100))});
  for (const char* name : {"a", "b", "c"}) EXPECT_NEAR(of(report, name), 1.0 / 3, 0.02) << name;
}

TEST_P(Shares, MixedLengthsAreEqualInTime) {
  const Report report = play(
      settings_, {client("short", 1, 100, range(5, 15)), client("mixed", 2, 100, range(5, 800)), client("long", 3, 100, range(400, 600))});
  for (const char* name : {"short", "mixed", "long"}) EXPECT_NEAR(of(report, name), 1.0 / 3, 0.04) << name;
}

// Reported cost governs: who costs three times its time gets a third of the time of the other.
TEST_P(Shares, ReportedCostIsWhatIsShared) {
  Clients dear = client("dear", 1, 64, range(50, 50));
  dear.reported = 3;
  const Report report = play(settings_, {dear, client("plain", 2, 64, range(50, 50))});
  EXPECT_NEAR(of(report, "dear"), 0.25, 0.02);
  EXPECT_NEAR(of(report, "plain"), 0.75, 0.02);
}

// The unit does not matter: CPU time of a hundredth, and clients that come and go are treated as with real time.
TEST_P(Shares, ReportedCostOfAnotherUnitChangesNothing) {
  Clients a = client("a", 1, 64, range(100, 100));
  a.reported = 0.01;
  Clients late = a;
  late.name = "late";
  late.first_network = 2;
  late.begin = range(30'000, 30'100);
  settings_.warm_up = 35 * s;
  const Report report = play(settings_, {a, late});
  EXPECT_NEAR(of(report, "a"), of(report, "late"), 0.05);
}

// One request always running for 60 s, then 100 at once: no credit was earned by being slow (upper bound), nor lost (lower bound).
TEST_P(Shares, WindUpIsBoundedBothWays) {
  if (GetParam() == 1) return;  // a single slow request is everything then
  settings_.length = 75 * s;
  settings_.window = 1 * s;
  Clients slow = client("slow", 1, 1, range(1'000, 1'000));
  Clients burst = client("burst", 1, 99, range(100, 100));  // of the same client
  burst.begin = range(60'000, 60'010);
  const Report report = play(settings_, {slow, burst, client("steady", 2, 100, range(100, 100))});
  for (std::size_t i = 62; i < 73; ++i) {
    const auto mine = static_cast<double>(report["slow"].slot_time_by_window[i] + report["burst"].slot_time_by_window[i]);
    const double part = mine / (mine + static_cast<double>(report["steady"].slot_time_by_window[i]));
    EXPECT_GE(part, 0.40) << i;
    EXPECT_LE(part, 0.60) << i;
  }
}

// Somebody held all slots for a minute while another waited: what is owed to that one is not taken from a newcomer for long.
TEST_P(Shares, ANewcomerDoesNotPayForWhatOthersOwe) {
  settings_.length = 80 * s;
  settings_.window = 1 * s;
  Clients occupant = client("occupant", 1, GetParam(), range(60'000, 60'000));
  occupant.requests = 1;
  occupant.begin = range(1, 1);
  Clients waiting = client("waiting", 2, 100, range(100, 100));
  waiting.begin = range(1'000, 1'100);
  Clients fresh = client("fresh", 3, 100, range(100, 100));
  fresh.begin = range(58'000, 58'100);
  const Report report = play(settings_, {occupant, waiting, fresh});
  const std::size_t settled = 60 + 2 + 5 / GetParam() + 1;
  for (std::size_t i = settled; i < settled + 5; ++i) {
    const auto mine = static_cast<double>(report["fresh"].slot_time_by_window[i]);
    EXPECT_NEAR(mine / (mine + static_cast<double>(report["waiting"].slot_time_by_window[i])), 0.5, 0.1) << i;
  }
}

// A client that idles just long enough to regain its burst gains no more than bursts.
TEST_P(Shares, TimingTheBurstGainsLittle) {
  Clients sly = client("sly", 1, 2, range(20, 20));
  sly.think = range(20, 20);
  const Report report = play(settings_, {sly, client("steady", 2, 64, range(20, 20))});
  EXPECT_LE(of(report, "sly"), std::max(0.55, 1.0 / GetParam()));
}

// (m_f + m_g)(L + E): between two backlogged flows the difference of what they got stays below this, over any interval.
TEST_P(Shares, UnfairnessIsBoundedAndDoesNotGrow) {
  settings_.window = 100 * ms;
  settings_.length = 120 * s;
  for (const Range service : {range(1, 1'000), range(900, 1'000), range(1, 50)}) {
    const Report report = play(settings_, {client("a", 1, 100, service), client("b", 2, 100, range(10, 10))}, 1);
    double ahead = 0;
    double least = 0;
    double most = 0;
    for (std::size_t i = 50; i < 1'190; ++i) {
      ahead += static_cast<double>(report["a"].slot_time_by_window[i] - report["b"].slot_time_by_window[i]) / 1e9;
      least = std::min(least, ahead);
      most = std::max(most, ahead);
    }
    EXPECT_LE(most - least, 2.0 * GetParam() * (1 + 1));
  }
}

// Equal flows: nobody waits more than twice the mean.
TEST_P(Shares, EqualFlowsWaitAlike) {
  Clients equal = client("equal", 1, 1, range(50, 50));
  equal.networks = 100;
  const Report report = play(settings_, {equal});
  double sum = 0;
  for (const Nanos wait : report["equal"].waits) sum += static_cast<double>(wait);
  EXPECT_LE(static_cast<double>(report["equal"].wait(1)), 2 * sum / static_cast<double>(report["equal"].waits.size()));
}

// A classroom behind one address, on a site that is not overloaded: with everything on, nobody is refused or waits.
TEST(SharesOfAll, AClassroomIsNotLimited) {
  Settings settings8 = settings(8);
  Clients classroom = light(1);
  classroom.sessions = 30;
  classroom.service = range(50, 50);
  const Report report = play(settings8, {classroom});
  EXPECT_EQ(report["light"].failed(), 0U);
  EXPECT_LE(report["light"].wait(0.99), 20 * ms);
}

// Records that are forgotten early never lose somebody who waits (debt_ttl 1 s, slots blocked for 5 s).
TEST(SharesOfAll, ForgettingSoonLosesNobody) {
  Settings impatient = settings(1);
  impatient.limits.debt_ttl = 1 * s;
  impatient.capacity.outer_flows = 2;
  impatient.warm_up = 0;
  Clients block = client("block", 1, 1, range(5'000, 5'000));
  block.requests = 1;
  block.begin = range(1, 1);
  Clients others = client("others", 10, 1, range(10, 10));
  others.networks = 20;
  others.requests = 1;
  others.begin = range(100, 200);
  const Report report = play(impatient, {block, others});
  EXPECT_EQ(report["others"].served, 3U * 20);
  EXPECT_EQ(report["others"].failed(), 0U);
}

}  // namespace
}  // namespace fairway::sim::scenarios
