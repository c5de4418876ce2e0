// Where the sentinels say the master is.
#include <gtest/gtest.h>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

class ValkeySentinel : public testing::Test {
 protected:
  static constexpr std::string_view kMasterReply = "*2\r\n$4\r\nnode\r\n$4\r\n6380\r\n";
  static constexpr std::string_view kRoleMaster = "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n";
  static constexpr std::string_view kRoleReplica = "*5\r\n$5\r\nslave\r\n$4\r\nnode\r\n:6379\r\n$9\r\nconnected\r\n:1\r\n";

  ValkeySentinel() {
    rig.submit(1);
    rig.advance();
  }
  Rig rig{{"valkey://:secret@s1:1", "valkey://s2:2", "sentinel=shop"}};
};

TEST_F(ValkeySentinel, TheMasterIsAskedForThenItsRole) {
  ASSERT_NE(rig.link(1), nullptr);
  rig.open_all();
  EXPECT_EQ(rig.sent(1).at(0).words, (std::vector<std::string>{"SENTINEL", "get-master-addr-by-name", "shop"}));
  rig.answer(kMasterReply, 1);
  EXPECT_EQ(rig.link(1), nullptr) << "the sentinel is left";
  ASSERT_NE(rig.link(6380), nullptr);
  rig.open_all();
  EXPECT_EQ(names(rig.sent(6380)), (Names{"AUTH", "ROLE"}));
  rig.answer("+OK\r\n" + std::string(kRoleMaster), 6380);
  EXPECT_EQ(names(rig.sent(6380)), (Names{"EVALSHA"}));
  rig.answer(script_reply(1), 6380);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::answered}}));
}

TEST_F(ValkeySentinel, ASentinelThatHangsLeavesTimeForTheNext) {
  rig.open_all();
  ASSERT_LE(rig.client.deadline(), rig.now + kTimeout / 3);
  rig.advance(rig.client.deadline() - rig.now);
  EXPECT_EQ(rig.link(1), nullptr);
  ASSERT_NE(rig.link(2), nullptr);
  rig.open_all();
  rig.answer(kMasterReply, 2);
  ASSERT_NE(rig.link(6380), nullptr);
  EXPECT_TRUE(rig.outcomes().empty());
  EXPECT_FALSE(rig.breaker.open());
}

TEST_F(ValkeySentinel, AStaleSentinelIsFollowedByTheNext) {
  rig.open_all();
  rig.answer(kMasterReply, 1);
  rig.open_all();
  rig.answer("+OK\r\n" + std::string(kRoleReplica), 6380);
  EXPECT_EQ(rig.link(6380), nullptr);
  ASSERT_NE(rig.link(2), nullptr);
  EXPECT_TRUE(rig.outcomes().empty());
}

TEST_F(ValkeySentinel, WhenNoneKnowsTheMasterItIsDown) {
  rig.open_all();
  rig.answer("*-1\r\n", 1);
  ASSERT_NE(rig.link(2), nullptr);
  rig.open_all();
  rig.answer("*-1\r\n", 2);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  EXPECT_EQ(rig.client.take_reports().at(0).failure, Failure::no_master);
  EXPECT_TRUE(rig.breaker.open());
}

TEST_F(ValkeySentinel, ThePasswordIsShownToASentinelThatAsksForIt) {
  rig.open_all();
  EXPECT_EQ(names(rig.sent(1)), (Names{"SENTINEL"}));
  rig.answer("-NOAUTH Authentication required.\r\n", 1);
  EXPECT_EQ(names(rig.sent(1)), (Names{"AUTH", "SENTINEL"}));
  rig.answer("+OK\r\n" + std::string(kMasterReply), 1);
  EXPECT_NE(rig.link(6380), nullptr);
}

TEST_F(ValkeySentinel, ReadonlyAsksTheSentinelsAgain) {
  rig.open_all();
  rig.answer(kMasterReply, 1);
  rig.open_all();
  rig.answer("+OK\r\n" + std::string(kRoleMaster), 6380);
  rig.answer("-READONLY You can't write against a read only replica.\r\n", 6380);
  EXPECT_EQ(rig.outcomes(), (Outcomes{{1, Outcome::failed}}));
  rig.now += 10'000'000;
  rig.submit(2);
  rig.advance();
  EXPECT_EQ(rig.link(6380), nullptr);
  EXPECT_EQ(rig.client.links().size(), 1U);
  EXPECT_EQ(rig.client.links().front()->purpose(), Link::Purpose::sentinel);
}

TEST_F(ValkeySentinel, GarbageFromASentinelIsLikeNoAnswer) {
  for (const std::string_view bytes :
       {"+OK\r\n", "*2\r\n:1\r\n:2\r\n", "*1\r\n$1\r\nx\r\n", "*2\r\n$1\r\nx\r\n$1\r\ny\r\n", "HTTP/1.1\r\n"}) {
    Rig each{{"valkey://s1:1", "sentinel=shop"}};
    each.submit(1);
    each.advance();
    each.open_all();
    each.answer(bytes, 1);
    EXPECT_EQ(each.outcomes(), (Outcomes{{1, Outcome::failed}})) << bytes;
  }
}

}  // namespace
}  // namespace fairway::valkey::test
