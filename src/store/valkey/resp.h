// Replies of a Redis-compatible server as values, and commands as bytes. hiredis reads and formats; this wrapper bounds what a
// server can make us hold, so that garbage costs an error and no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace fairway::valkey {

struct Value {
  enum class Type : std::uint8_t { nil, integer, text, error, array };
  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text;  // of text and error
  std::vector<Value> items;
};

inline constexpr std::size_t kMaxReplyBytes = 512 * 1024;  // of one reply; more is a protocol error
inline constexpr std::size_t kMaxReplyItems = 16 * 1024;   // of all arrays of one reply together

// Takes bytes as they come, gives whole replies in order. After an error it is of no more use.
class ReplyReader {
 public:
  enum class Status : std::uint8_t { value, incomplete, error };

  ReplyReader();
  ReplyReader(const ReplyReader&) = delete;  // hiredis keeps the address of items_
  ReplyReader& operator=(const ReplyReader&) = delete;
  void feed(std::string_view bytes);
  Status next(Value& value);

 private:
  struct Free {
    void operator()(redisReader* reader) const noexcept;
  };
  std::unique_ptr<redisReader, Free> reader_;
  std::size_t unread_ = 0;  // bytes fed since the last whole reply
  std::size_t items_ = 0;   // array items of the reply under way
  bool broken_ = false;
};

// Appends one command to `out`.
void append_command(std::string& out, std::span<const std::string_view> words);

}  // namespace fairway::valkey
