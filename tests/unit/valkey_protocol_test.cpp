#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "valkey_rig.h"

namespace fairway::valkey::test {
namespace {

Value read(std::string_view bytes) {
  ReplyReader reader;
  reader.feed(bytes);
  Value value;
  EXPECT_EQ(reader.next(value), ReplyReader::Status::value);
  return value;
}

std::vector<std::string> words_of(const Request& request, bool whole = false) {
  std::string bytes;
  append_call(bytes, request, whole);
  std::vector<std::string> words;
  for (Value& word : read(bytes).items) words.push_back(std::move(word.text));
  return words;
}

TEST(ValkeyProtocol, TheScriptIsTheOneInTheTree) {
  EXPECT_EQ(script_text().substr(0, 2), "--");
  EXPECT_TRUE(script_text().ends_with("return reply\n\n"));
  EXPECT_EQ(script_sha1().size(), 40U);
  EXPECT_EQ(script_text().find("\nlocal function tostring"), std::string_view::npos);
}

TEST(ValkeyProtocol, AllKeysOfARoomAreInOneSlot) {
  Request request;
  request.room = "sale";
  const auto words = words_of(request);
  const std::size_t keys = std::stoul(words.at(2));
  ASSERT_EQ(keys, 8U);
  for (std::size_t i = 0; i < keys; ++i) EXPECT_EQ(words.at(3 + i).substr(0, 15), "fairway:{sale}:");
}

TEST(ValkeyProtocol, ArgumentsAreInOrder) {
  Request request;
  request.room = "a";
  request.settings = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, room::Mode::closed};
  request.memory = {12, 13, 14, 15, 16, true};
  room::Operation operation;
  operation.kind = room::Kind::heartbeat;
  operation.sid = sid_of(0);
  operation.epoch = 1'700'000'000'000'001;
  operation.number = 1'700'000'000'000'002;
  operation.admitted = 21;
  operation.network = {{10, 0, 255}, 3};
  operation.gap = -5;
  request.operations = {&operation, 1};
  request.changes_since = 22;
  request.cut = room::Cut{{{1, 2, 3, 4, 5, 6}, 6}, true};
  using namespace std::string_literals;
  const auto words = words_of(request, true);
  EXPECT_EQ(words.at(0), "EVAL");
  EXPECT_EQ(words.at(1), script_text());
  EXPECT_EQ(std::vector<std::string>(words.begin() + 11, words.end()), (std::vector<std::string>{"1",
                                                                                                 "2",
                                                                                                 "3",
                                                                                                 "4",
                                                                                                 "5",
                                                                                                 "6",
                                                                                                 "7",
                                                                                                 "8",
                                                                                                 "9",
                                                                                                 "10",
                                                                                                 "11",
                                                                                                 "3",
                                                                                                 "12",
                                                                                                 "13",
                                                                                                 "14",
                                                                                                 "15",
                                                                                                 "16",
                                                                                                 "1",
                                                                                                 "1",
                                                                                                 "22",
                                                                                                 "1000",
                                                                                                 "new",
                                                                                                 "\x01\x02\x03\x04\x05\x06"s,
                                                                                                 "1",
                                                                                                 "0",
                                                                                                 "1",
                                                                                                 "h",
                                                                                                 std::string(16, '\0'),
                                                                                                 "1700000000000001",
                                                                                                 "1700000000000002",
                                                                                                 "21",
                                                                                                 "\x0a\x00\xff"s,
                                                                                                 "0"}));
}

TEST(ValkeyProtocol, NumbersThatLuaCannotHoldAreCapped) {
  Request request;
  request.room = "a";
  request.memory.epoch = ~std::uint64_t{0};
  EXPECT_EQ(words_of(request).at(3 + 8 + 12), "9007199254740991");
}

TEST(ValkeyProtocol, AWholeReplyIsRead) {
  room::Operation operations[2];
  Request request;
  request.operations = operations;
  Response response;
  ASSERT_TRUE(read_reply(read(script_reply(2)), request, response));
  EXPECT_EQ(response.summary.now, 1'000'000);
  EXPECT_EQ(response.summary.epoch, 50U);
  EXPECT_EQ(response.summary.last_number, 99U);
  EXPECT_EQ(response.summary.inside, 3U);
  EXPECT_EQ(response.summary.granted, 1U);
  EXPECT_EQ(response.summary.reserved, 6U);
  EXPECT_EQ(response.summary.waiting, 2U);
  EXPECT_EQ(response.summary.admitted_total, 10U);
  EXPECT_EQ(response.summary.abandoned_total, 4U);
  EXPECT_FALSE(response.summary.recovering);
  ASSERT_EQ(response.answers.size(), 2U);
  EXPECT_EQ(response.answers[1].state, room::State::admitted);
  EXPECT_EQ(response.answers[1].number, 101U);
  EXPECT_EQ(response.answers[1].expires, 9);
}

TEST(ValkeyProtocol, WhatIsOutOfPlaceIsRefused) {
  room::Operation operations[1];
  Request request;
  request.operations = operations;
  Response response;
  EXPECT_FALSE(read_reply(read("+OK\r\n"), request, response));
  EXPECT_FALSE(read_reply(read(script_reply(0)), request, response));
  EXPECT_FALSE(read_reply(read(script_reply(2)), request, response));
  const Value good = read(script_reply(1));
  ASSERT_TRUE(read_reply(good, request, response));
  for (std::size_t i = 0; i < good.items.size(); ++i) {
    Value bad = good;
    bad.items[i].integer = -1;
    EXPECT_FALSE(read_reply(bad, request, response)) << i;
    bad = good;
    bad.items[i] = Value{Value::Type::text, 0, "1", {}};
    EXPECT_FALSE(read_reply(bad, request, response)) << i;
  }
  for (const std::size_t narrow : {4U, 5U, 6U, 7U, 10U, 11U, 12U, 13U}) {
    Value bad = good;
    bad.items[narrow].integer = 1LL << 40;
    EXPECT_FALSE(read_reply(bad, request, response)) << narrow;
  }
}

TEST(ValkeyProtocol, ChangesAreBounded) {
  Request request;
  request.changes_since = 0;
  Response response;
  Value reply = read(script_reply(0, false, true, false));
  ASSERT_TRUE(read_reply(reply, request, response));
  const std::size_t count = reply.items.size() - 3;
  reply.items[count].integer = 1'000'000'000;
  EXPECT_FALSE(read_reply(reply, request, response));
  EXPECT_LE(response.ended.size(), kMaxEnded);
  reply.items[count].integer = 0;
  reply.items[count + 2].integer = 1'000'000'000;
  EXPECT_FALSE(read_reply(reply, request, response));
  EXPECT_LE(response.cuts.size(), 1U);
}

}  // namespace
}  // namespace fairway::valkey::test
