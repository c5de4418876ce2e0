#include "rooms.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace fairway::test {
namespace {

constexpr std::align_val_t kPage{4096};

}  // namespace

void InMemory::Free::operator()(std::byte* block) const noexcept {
  ::operator delete[](block, kPage);
}

InMemory::InMemory(std::size_t size) : size_(size), block_(static_cast<std::byte*>(::operator new[](size, kPage))) {
  lose();
}

void InMemory::lose() {
  MemoryStore::create(block_.get(), size_);
}

void InMemory::mark() {
  marked_.assign(block_.get(), block_.get() + size_);
}

void InMemory::roll_back() {
  if (!marked_.empty()) std::memcpy(block_.get(), marked_.data(), size_);
}

valkey::Response InMemory::call(const valkey::Request& request, Micros now) {
  MemoryStore& store = *MemoryStore::attach(block_.get(), size_);
  const std::int32_t pid = ::getpid();
  valkey::Response response;
  response.answers.resize(request.operations.size());
  if (request.cut) {
    response.cut = store.cut(request.room, now, request.settings, request.memory, *request.cut, response.summary, pid);
  } else if (request.cut_id != 0) {
    response.cut = store.go_on(request.room, now, request.settings, request.memory, request.cut_id, response.summary, pid);
  } else if (request.changes_since) {
    response.ended.resize(valkey::kMaxEnded);
    response.cuts.resize(16);
    room::Changes changes{response.ended, response.cuts};
    response.summary = store.stats(request.room, now, request.settings, request.memory, *request.changes_since, changes, pid);
    response.ended.resize(changes.ended_count);
    response.cuts.resize(changes.cut_count);
    response.more_changes = changes.more;
  } else {
    response.summary = store.call(request.room, now, request.settings, request.memory, request.operations, response.answers, pid);
  }
  return response;
}

// Exchanges what stands in `text` exactly once.
void exchange_once(std::string& text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    throw std::runtime_error("the script should have once: " + std::string(from));
  }
  text.replace(at, from.size(), to);
}

Scripted::Scripted(Server& server) : connection_(server) {
  std::string text(valkey::script_text());
  exchange_once(text, "redis.call('TIME')", "redis.call('HMGET', 'clock', 'seconds', 'micros')");
  // Nothing is evicted here: a state that does not fit its keys is a fault of the script.
  exchange_once(text, "call('UNLINK', unpack(KEYS))", "error('the state does not fit its keys')");
  sha1_ = connection_.command({"SCRIPT", "LOAD", text}).text;
  lose();
}

void Scripted::lose() {
  remove("fairway:");
}

void Scripted::remove(std::string_view prefix) {
  const valkey::Value keys = connection_.command({"KEYS", std::string(prefix) + "*"});
  for (const valkey::Value& key : keys.items) connection_.command({"DEL", key.text});
}

void Scripted::copy(std::string_view from, std::string_view to) {
  remove(to);
  const valkey::Value keys = connection_.command({"KEYS", std::string(from) + "*"});
  for (const valkey::Value& key : keys.items) connection_.command({"COPY", key.text, std::string(to) + key.text.substr(from.size())});
}

void Scripted::mark() {
  copy("fairway:", "marked:");
}

void Scripted::roll_back() {
  copy("marked:", "fairway:");
}

valkey::Response Scripted::call(const valkey::Request& request, Micros now) {
  std::string bytes;
  valkey::append_command(bytes, std::vector<std::string_view>{"HSET", "clock", "seconds", std::to_string(now / 1'000'000), "micros",
                                                              std::to_string(now % 1'000'000)});
  const std::size_t start = bytes.size();
  valkey::append_call(bytes, request, false);
  bytes.replace(bytes.find(valkey::script_sha1(), start), sha1_.size(), sha1_);
  const std::vector<valkey::Value> replies = connection_.exchange(bytes, 2);
  valkey::Response response;
  if (!valkey::read_reply(replies[1], request, response)) throw std::runtime_error("not a reply of the script: " + replies[1].text);
  return response;
}

}  // namespace fairway::test
