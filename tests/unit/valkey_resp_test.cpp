#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store/valkey/failure.h"
#include "store/valkey/resp.h"

namespace fairway::valkey {
namespace {

using Status = ReplyReader::Status;

TEST(ValkeyResp, ReadsAllTypes) {
  ReplyReader reader;
  reader.feed("+OK\r\n:-7\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n-ERR no\r\n*3\r\n:1\r\n$0\r\n\r\n*2\r\n+x\r\n$-1\r\n");
  Value value;
  ASSERT_EQ(reader.next(value), Status::value);
  EXPECT_EQ(value.type, Value::Type::text);
  EXPECT_EQ(value.text, "OK");
  ASSERT_EQ(reader.next(value), Status::value);
  EXPECT_EQ(value.type, Value::Type::integer);
  EXPECT_EQ(value.integer, -7);
  ASSERT_EQ(reader.next(value), Status::value);
  EXPECT_EQ(value.text, "a\r\n");
  ASSERT_EQ(reader.next(value), Status::value);
  EXPECT_EQ(value.type, Value::Type::nil);
  ASSERT_EQ(reader.next(value), Status::value);
  EXPECT_EQ(value.type, Value::Type::nil);
  ASSERT_EQ(reader.next(value), Status::value);
  EXPECT_EQ(value.type, Value::Type::error);
  EXPECT_EQ(value.text, "ERR no");
  ASSERT_EQ(reader.next(value), Status::value);
  ASSERT_EQ(value.items.size(), 3U);
  EXPECT_EQ(value.items[0].integer, 1);
  EXPECT_EQ(value.items[1].type, Value::Type::text);
  EXPECT_EQ(value.items[1].text, "");
  ASSERT_EQ(value.items[2].items.size(), 2U);
  EXPECT_EQ(value.items[2].items[0].text, "x");
  EXPECT_EQ(value.items[2].items[1].type, Value::Type::nil);
  EXPECT_EQ(reader.next(value), Status::incomplete);
}

TEST(ValkeyResp, OneByteAtATime) {
  const std::string bytes = "*2\r\n:12\r\n$5\r\nhello\r\n+next\r\n";
  ReplyReader reader;
  std::vector<Value> values;
  for (const char& byte : bytes) {
    reader.feed({&byte, 1});
    Value value;
    while (reader.next(value) == Status::value) values.push_back(value);
  }
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].items[1].text, "hello");
  EXPECT_EQ(values[1].text, "next");
}

TEST(ValkeyResp, GarbageIsAnErrorForGood) {
  for (const std::string_view garbage :
       {"HTTP/1.1 400 Bad Request\r\n", ":12a\r\n", "$x\r\n", "*2\r\n:1\r\n?\r\n", "$-5\r\n", "*-7\r\n", "$99999999999999999999\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"}) {
    ReplyReader reader;
    reader.feed(garbage);
    Value value;
    EXPECT_EQ(reader.next(value), Status::error) << garbage;
    reader.feed("+OK\r\n");
    EXPECT_EQ(reader.next(value), Status::error);
  }
}

TEST(ValkeyResp, AServerCannotMakeUsHoldMuch) {
  Value value;
  ReplyReader large_array;
  large_array.feed("*1000000000\r\n");
  EXPECT_EQ(large_array.next(value), Status::error);

  ReplyReader many_arrays;
  many_arrays.feed("*16000\r\n*16000\r\n");
  EXPECT_EQ(many_arrays.next(value), Status::error);

  ReplyReader endless;
  endless.feed("$500000000\r\n");
  EXPECT_EQ(endless.next(value), Status::incomplete);
  const std::string block(64 * 1024, 'x');
  Status status = Status::incomplete;
  std::size_t fed = 0;
  for (; status == Status::incomplete && fed < 10 * kMaxReplyBytes; fed += block.size()) {
    endless.feed(block);
    status = endless.next(value);
  }
  EXPECT_EQ(status, Status::error);
  EXPECT_LE(fed, kMaxReplyBytes + 2 * block.size());
}

TEST(ValkeyResp, ManyRepliesAtOnceAreNoLargeReply) {
  ReplyReader reader;
  std::string bytes;
  for (int i = 0; i < 50'000; ++i) bytes += "*2\r\n:123456\r\n:7\r\n";
  ASSERT_GT(bytes.size(), kMaxReplyBytes);
  reader.feed(bytes);
  Value value;
  int count = 0;
  while (reader.next(value) == Status::value) ++count;
  EXPECT_EQ(count, 50'000);
}

// Random bytes, random cuts: the same replies come out, or an error, and what comes after an error is an error.
RC_GTEST_PROP(ValkeyResp, CutsChangeNothing, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "*2\r\n", "*0\r\n", ":5\r\n", "$3\r\nabc\r\n", "$-1\r\n", "+x\r\n", "-ERR y\r\n", "*3\r\n", "$2\r\nab\r", "!", ":"));
  std::string bytes;
  for (const std::string& piece : pieces) bytes += piece;
  const auto run = [&](std::size_t step) {
    ReplyReader reader;
    std::string seen;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.feed(std::string_view(bytes).substr(at, step));
      for (;;) {
        Value value;
        const Status status = reader.next(value);
        if (status == Status::error) return seen + "error";
        if (status == Status::incomplete) break;
        seen += std::to_string(static_cast<int>(value.type)) + value.text + std::to_string(value.items.size()) + ';';
      }
    }
    return seen;
  };
  const std::string whole = run(bytes.size() + 1);
  RC_ASSERT(run(1) == whole);
  RC_ASSERT(run(3) == whole);
}

TEST(ValkeyResp, CommandsAreWrittenAsArrays) {
  std::string out = "before";
  append_command(out, std::vector<std::string_view>{"SET", std::string_view("a\0b", 3), ""});
  using namespace std::string_literals;
  EXPECT_EQ(out, "before*3\r\n$3\r\nSET\r\n$3\r\na\0b\r\n$0\r\n\r\n"s);
}

TEST(ValkeyFailure, CodesAreToldApart) {
  EXPECT_EQ(classify("NOSCRIPT No matching script. Please use EVAL."), Failure::no_script);
  EXPECT_EQ(classify("MOVED 3999 127.0.0.1:6381"), Failure::moved);
  EXPECT_EQ(classify("ASK 3999 127.0.0.1:6381"), Failure::ask);
  EXPECT_EQ(classify("TRYAGAIN Multiple keys request during rehashing of slot"), Failure::try_again);
  EXPECT_EQ(classify("CLUSTERDOWN Hash slot not served"), Failure::cluster_down);
  EXPECT_EQ(classify("LOADING Redis is loading the dataset in memory"), Failure::loading);
  EXPECT_EQ(classify("READONLY You can't write against a read only replica."), Failure::readonly);
  EXPECT_EQ(classify("MASTERDOWN Link with MASTER is down"), Failure::master_down);
  EXPECT_EQ(classify("NOAUTH Authentication required."), Failure::no_auth);
  EXPECT_EQ(classify("WRONGPASS invalid username-password pair or user is disabled."), Failure::no_auth);
  EXPECT_EQ(classify("ERR invalid password"), Failure::no_auth);
  EXPECT_EQ(classify("ERR Protocol error: unauthenticated multibulk length"), Failure::no_auth);
  EXPECT_EQ(classify("NOPERM this user has no permissions"), Failure::no_auth);
  EXPECT_EQ(classify("OOM command not allowed when used memory > 'maxmemory'."), Failure::out_of_memory);
  EXPECT_EQ(classify("ERR unknown command"), Failure::error);
  EXPECT_EQ(classify("MISCONF Redis is configured to save RDB snapshots"), Failure::error);
  EXPECT_EQ(classify(""), Failure::error);
  EXPECT_EQ(classify("ASKED"), Failure::error);
}

TEST(ValkeyFailure, CodesThatOlderServersWrapAreFound) {
  EXPECT_EQ(classify("ERR Error running script (call to f_0): @user_script:30: @user_script: 30: -READONLY You can't write against a "
                     "read only replica. "),
            Failure::readonly);
  EXPECT_EQ(classify("@user_script: 12: -OOM command not allowed when used memory > 'maxmemory'."), Failure::out_of_memory);
  EXPECT_EQ(classify("ERR something about READONLY"), Failure::error);
}

TEST(ValkeyFailure, NamesAreDistinct) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Failure::out_of_memory); ++i) names.push_back(to_string(static_cast<Failure>(i)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(to_string(Failure::timeout), "timeout");
  EXPECT_EQ(to_string(Failure::out_of_memory), "out_of_memory");
}

}  // namespace
}  // namespace fairway::valkey
