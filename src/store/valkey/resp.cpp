#include "store/valkey/resp.h"

#include <new>
#include <utility>

// hiredis before 1.0 gives the number of array items as int, later ones as size_t: the generic lambdas below fit both.
#include <hiredis/hiredis.h>

namespace fairway::valkey {
namespace {

// The place where a value that was just read belongs: an item of the array under way, or a new root.
Value* place_of(const redisReadTask* task) {
  if (task->parent == nullptr) return new (std::nothrow) Value;
  auto* array = static_cast<Value*>(task->parent->obj);
  const auto index = static_cast<std::size_t>(task->idx);
  return array != nullptr && index < array->items.size() ? &array->items[index] : nullptr;
}

template <typename Fill>
void* make(const redisReadTask* task, Fill fill) noexcept {
  Value* value = place_of(task);
  if (value == nullptr) return nullptr;
  try {
    fill(*value);
  } catch (const std::bad_alloc&) {
    if (task->parent == nullptr) delete value;
    return nullptr;
  }
  return value;
}

// hiredis asks these for each piece it has read; nullptr makes it stop with an error.
redisReplyObjectFunctions make_functions() {
  redisReplyObjectFunctions functions{};
  functions.createString = [](const redisReadTask* task, char* text, std::size_t size) -> void* {
    return make(task, [&](Value& value) {
      value.type = task->type == REDIS_REPLY_ERROR ? Value::Type::error : Value::Type::text;
      value.text.assign(text, size);
    });
  };
  functions.createArray = [](const redisReadTask* task, auto count) -> void* {
    auto& left = *static_cast<std::size_t*>(task->privdata);
    if (!std::in_range<std::size_t>(count) || static_cast<std::size_t>(count) > left) return nullptr;
    left -= static_cast<std::size_t>(count);
    return make(task, [&](Value& value) {
      value.type = Value::Type::array;
      value.items.resize(static_cast<std::size_t>(count));
    });
  };
  functions.createInteger = [](const redisReadTask* task, long long number) -> void* {
    return make(task, [&](Value& value) {
      value.type = Value::Type::integer;
      value.integer = number;
    });
  };
  functions.createNil = [](const redisReadTask* task) -> void* { return make(task, [](Value& value) { value.type = Value::Type::nil; }); };
  functions.freeObject = [](void* root) { delete static_cast<Value*>(root); };
  return functions;
}

redisReplyObjectFunctions& functions() {
  static redisReplyObjectFunctions table = make_functions();
  return table;
}

}  // namespace

void ReplyReader::Free::operator()(redisReader* reader) const noexcept {
  redisReaderFree(reader);
}

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&functions())) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

void ReplyReader::feed(std::string_view bytes) {
  unread_ += bytes.size();
  if (broken_ || bytes.empty()) return;
  broken_ = redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK;
}

ReplyReader::Status ReplyReader::next(Value& value) {
  if (broken_) return Status::error;
  void* root = nullptr;
  if (reader_->ridx == -1) items_ = kMaxReplyItems;
  reader_->privdata = &items_;  // the macro for it does not compile as C++
  if (redisReaderGetReply(reader_.get(), &root) != REDIS_OK) {
    broken_ = true;
    return Status::error;
  }
  const std::size_t left = reader_->len - reader_->pos;
  if (root == nullptr) {
    broken_ = unread_ > kMaxReplyBytes;
    return broken_ ? Status::error : Status::incomplete;
  }
  const std::unique_ptr<Value> owned(static_cast<Value*>(root));
  broken_ = unread_ - left > kMaxReplyBytes;
  unread_ = left;
  value = std::move(*owned);
  return broken_ ? Status::error : Status::value;
}

void append_command(std::string& out, std::span<const std::string_view> words) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  starts.reserve(words.size());
  sizes.reserve(words.size());
  for (const std::string_view word : words) {
    starts.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* command = nullptr;
  const auto size = redisFormatCommandArgv(&command, static_cast<int>(words.size()), starts.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  try {
    out.append(command, static_cast<std::size_t>(size));
  } catch (...) {
    redisFreeCommand(command);
    throw;
  }
  redisFreeCommand(command);
}

}  // namespace fairway::valkey
