#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "operate/attach.h"
#include "operate/cut_list.h"
#include "operate/events.h"
#include "operate/history.h"
#include "operate/session_networks.h"

namespace fairway::operate {
namespace {

TEST(AttachTable, TheLongestPathOfTheHostWins) {
  AttachTable table;
  EXPECT_TRUE(table.empty());
  table.add("a", "/x", 1);
  table.add("a", "/", 0);
  table.add("a", "/x/y", 2);
  table.add("b", "/x/y/z", 3);
  EXPECT_EQ(table.find("a", "/"), 0U);
  EXPECT_EQ(table.find("a", "/x"), 1U);
  EXPECT_EQ(table.find("a", "/x/"), 1U);
  EXPECT_EQ(table.find("a", "/xy"), 0U);
  EXPECT_EQ(table.find("a", "/X"), 0U);
  EXPECT_EQ(table.find("a", "/x/y/z"), 2U);
  EXPECT_EQ(table.find("b", "/x/y"), std::nullopt);
  EXPECT_EQ(table.find("c", "/"), std::nullopt);
  EXPECT_TRUE(table.has("a", 2));
  EXPECT_FALSE(table.has("b", 2));
}

// The table answers what a look at every place would.
RC_GTEST_PROP(AttachTable, AgreesWithTheDefinition, ()) {
  const auto path = rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>("a", "b", "ab")),
                                 [](const std::vector<std::string>& parts) {
                                   std::string text;
                                   for (const auto& part : parts) text += "/" + part;
                                   return text.empty() ? std::string("/") : text;
                                 });
  const auto paths = *rc::gen::unique<std::vector<std::string>>(path);
  const std::string uri = *path;
  AttachTable table;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    table.add("h", paths[i], i);
    const bool fits = paths[i] == "/" || uri == paths[i] || uri.rfind(paths[i] + "/", 0) == 0;
    if (fits && (!best || paths[i].size() > paths[*best].size())) best = i;
  }
  RC_ASSERT(table.find("h", uri) == best);
}

std::vector<std::string> told(const EventRing& ring) {
  std::vector<std::string> all;
  ring.each([&all](const Event& event) { all.emplace_back(event.what); });
  return all;
}

TEST(EventRing, KeepsTheLastThousandNewestFirst) {
  const auto ring = std::make_unique<EventRing>();
  EXPECT_TRUE(told(*ring).empty());
  ring->add(5, "first", "here");
  ring->add(6, "second", "there");
  EXPECT_EQ(told(*ring), (std::vector<std::string>{"second", "first"}));
  for (int i = 0; i < 1'000; ++i) ring->add(7, std::to_string(i), "x");
  const auto all = told(*ring);
  EXPECT_EQ(all.size(), 1'000U);
  EXPECT_EQ(all.front(), "999");
  EXPECT_EQ(all.back(), "0");
}

TEST(EventRing, CutsAtTheEndOfACharacter) {
  const auto ring = std::make_unique<EventRing>();
  std::string text(222, 'x');
  ring->add(5, text + "東京", "here");
  EXPECT_EQ(told(*ring).front(), text);
  ring->add(5, text + "y", std::string(100, 'f'));
  EXPECT_EQ(told(*ring).front(), text + "y");
  EXPECT_EQ(std::string(ring->events[1].from).size(), 47U);
}

struct Sample {
  int value;
};

TEST(History, TellsEachSecondAndWhatIsMissing) {
  const auto history = std::make_unique<History<Sample>>();
  for (std::int64_t second : {1'000, 1'001, 1'003}) history->record(second, {static_cast<int>(second)});
  std::vector<int> seen;
  history->each(999, 1'003, [&seen](std::int64_t, const Sample* sample) { seen.push_back(sample == nullptr ? -1 : sample->value); });
  EXPECT_EQ(seen, (std::vector<int>{1'000, 1'001, -1, 1'003}));
  seen.clear();
  history->record(1'900, {7});  // in the place of 1,000
  history->each(0, 1'900, [&seen](std::int64_t, const Sample* sample) { seen.push_back(sample == nullptr ? -1 : sample->value); });
  ASSERT_EQ(seen.size(), 900U);
  EXPECT_EQ(seen.front(), 1'001);
  EXPECT_EQ(seen.back(), 7);
}

Network network(std::uint8_t last) {
  Network net;
  net.size = 3;
  net.bytes = {203, 0, last};
  return net;
}

TEST(CutList, RefusesWhatIsOlder) {
  CutList cuts;
  EXPECT_EQ(cuts.latest(), 0);
  cuts.add({.at = 1'000, .number = 0, .until = 2'000, .network = network(1)});
  EXPECT_EQ(cuts.latest(), 1'000);
  EXPECT_TRUE(cuts.hits_pass(999, 7, network(1), 1'500));
  EXPECT_FALSE(cuts.hits_pass(1'000, 7, network(1), 1'500));  // of the same second: the store knows
  EXPECT_FALSE(cuts.hits_pass(999, 7, network(2), 1'500));
  EXPECT_FALSE(cuts.hits_pass(999, 7, network(1), 2'000));  // over
  EXPECT_FALSE(cuts.hits_ticket(5, network(1), 1'500));
  cuts.add({.at = 1'100, .number = 50, .until = 2'000, .network = {}});
  EXPECT_TRUE(cuts.hits_pass(1'099, 7, network(2), 1'500));
  EXPECT_TRUE(cuts.hits_pass(1'100, 50, network(2), 1'500)) << "of the same second: the number tells";
  EXPECT_FALSE(cuts.hits_pass(1'100, 51, network(2), 1'500));
  EXPECT_FALSE(cuts.hits_pass(1'100, 0, network(2), 1'500));
  EXPECT_FALSE(cuts.hits_pass(1'101, 50, network(2), 1'500));
  EXPECT_TRUE(cuts.hits_ticket(50, network(2), 1'500));
  EXPECT_FALSE(cuts.hits_ticket(51, network(2), 1'500));
  EXPECT_FALSE(cuts.hits_ticket(0, network(2), 1'500));  // never joined
}

TEST(CutList, ForgetsTheOneThatEndsFirst) {
  CutList cuts;
  for (std::int64_t i = 0; i < 17; ++i)
    cuts.add({.at = 100 + i, .number = 0, .until = 1'000 + i, .network = network(static_cast<std::uint8_t>(i))});
  EXPECT_FALSE(cuts.hits_pass(1, 7, network(0), 500));
  EXPECT_TRUE(cuts.hits_pass(1, 7, network(1), 500));
  int count = 0;
  cuts.each(500, [&count](const CutEntry&) { ++count; });
  EXPECT_EQ(count, 16);
}

TEST(SessionNetworks, TellsOnceOfTheNinth) {
  const auto table = std::make_unique<SessionNetworks>();
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t net = 1; net <= 8; ++net) EXPECT_FALSE(table->see(77, net, 100));
  }
  EXPECT_TRUE(table->see(77, 9, 101));
  EXPECT_FALSE(table->see(77, 10, 102));
  EXPECT_FALSE(table->see(78, 9, 102));
}

TEST(SessionNetworks, ForgetsAndMakesRoom) {
  const auto table = std::make_unique<SessionNetworks>();
  for (std::uint32_t net = 1; net <= 8; ++net) EXPECT_FALSE(table->see(77, net, 100));
  EXPECT_FALSE(table->see(77, 9, 100 + SessionNetworks::kForget));
  for (std::uint64_t other = 1; other <= 4; ++other) {
    EXPECT_FALSE(table->see(77 + other * SessionNetworks::kSets, 1, 5'000));  // the same set
  }
  for (std::uint32_t net = 1; net <= 8; ++net) EXPECT_FALSE(table->see(77, net, 5'001));
}

}  // namespace
}  // namespace fairway::operate
