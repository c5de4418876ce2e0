// A room driven by the fuzzer's bytes. The first byte picks what they mean: the world of the property test, where each byte is a
// choice and the guarantees of the line must hold after each call; or raw calls to a memory store with arbitrary settings, memory
// and operations, during which processes die between two writes: a mark stays, bytes of the block are what they happen to be, and
// the next call must go on from there.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../unit/room_world.h"
#include "store/memory/memory_store.h"

namespace {

using namespace fairway;
using namespace fairway::room;
using namespace fairway::room::test;

class Bytes final : public Choices {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool empty() const noexcept { return left_ == 0; }
  std::uint64_t below(std::uint64_t n) override {
    std::uint64_t value = 0;
    for (std::uint64_t range = 1; range < n && left_ > 0; range *= 256) value = value * 256 + take();
    return value % n;
  }
  template <class T>
  void fill(T& value) {
    std::array<std::uint8_t, sizeof(T)> bytes{};
    for (std::size_t i = 0; i < bytes.size() && left_ > 0; ++i) bytes[i] = take();
    std::memcpy(&value, bytes.data(), bytes.size());
  }
  std::uint8_t take() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void live_in_a_world(Bytes& bytes) {
  World world(bytes);
  while (!bytes.empty()) {
    const std::string wrong = world.step();
    require(wrong.empty(), (wrong + world.describe()).c_str());
  }
}

// Times as the configuration allows them: below 2^50 µs (35 years).
Micros some_time(Bytes& bytes) {
  return static_cast<Micros>(bytes.below(std::uint64_t{1} << 50));
}

Settings some_settings(Bytes& bytes) {
  Settings s;
  s.capacity = static_cast<std::uint32_t>(bytes.below(8));
  s.rate = static_cast<std::uint32_t>(bytes.below(300));
  s.rate_window = s.rate == 0 ? 0 : (bytes.one_in(2) ? kSecond : kMinute);
  s.session_timeout = some_time(bytes);
  s.session_max = bytes.one_in(2) ? some_time(bytes) : 0;
  s.grant_timeout = some_time(bytes);
  s.abandon_timeout = some_time(bytes);
  s.return_grace = some_time(bytes);
  s.max_waiting = static_cast<std::uint32_t>(bytes.below(2000));
  s.poll_min = some_time(bytes);
  s.poll_max = s.poll_min + some_time(bytes);
  s.mode = static_cast<Mode>(bytes.below(4));
  return s;
}

Operation some_operation(Bytes& bytes) {
  Operation op;
  op.kind = static_cast<Kind>(bytes.below(5));
  op.sid = sid_of(bytes.below(300));
  op.epoch = bytes.below(std::uint64_t{1} << 52);
  op.number = bytes.one_in(3) ? 0 : bytes.below(std::uint64_t{1} << 52);
  op.admitted = some_time(bytes);
  op.gap = some_time(bytes) - kMinute;
  op.network.size = static_cast<std::uint8_t>(3 * bytes.below(3));
  op.network.bytes[0] = bytes.take();
  return op;
}

// Somebody dies inside a call: the mark stays, and anything behind the header may be half written.
void die_in_a_call(Bytes& bytes, Block& block) {
  constexpr std::size_t kMark = 12, kHeader = 128;
  const std::int32_t pid = 99;
  auto* memory = static_cast<std::uint8_t*>(block.data());
  std::memcpy(memory + kMark, &pid, sizeof pid);
  for (std::uint64_t n = bytes.below(20); n > 0; --n) {
    std::uint64_t junk = 0;
    bytes.fill(junk);
    std::memcpy(memory + kHeader + bytes.below(block.size() - kHeader - sizeof junk), &junk, sizeof junk);
  }
}

void call_a_store(Bytes& bytes) {
  Block block(MemoryStore::kMinSize);
  MemoryStore* store = MemoryStore::create(block.data(), block.size());
  Settings settings = some_settings(bytes);
  Micros now = some_time(bytes);
  Memory memory;
  std::uint64_t torn = 0;
  while (!bytes.empty()) {
    now += static_cast<Micros>(bytes.below(std::uint64_t{1} << 24)) - (bytes.one_in(16) ? kSecond : 0);
    const std::uint8_t what = bytes.take();
    if (what < 8) settings = some_settings(bytes);
    if (what >= 8 && what < 16) {
      die_in_a_call(bytes, block);
      ++torn;
      store = MemoryStore::attach(block.data(), block.size());
    }
    if (what >= 16 && what < 24) memory.epoch = bytes.below(std::uint64_t{1} << 52);
    const std::string_view name = what % 2 == 0 ? "a" : "b";
    Summary summary;
    std::array<Operation, 4> operations;
    std::array<Answer, 4> answers;
    const std::size_t count = bytes.below(5);
    for (std::size_t i = 0; i < count; ++i) operations[i] = some_operation(bytes);
    if (what >= 24 && what < 30) {
      store->cut(name, now, settings, memory, Cut{operations[0].network, what % 2 == 0}, summary, 1);
    } else if (what >= 30 && what < 34) {
      store->remove(name, 1);
      continue;
    } else {
      summary = store->call(name, now, settings, memory, {operations.data(), count}, {answers.data(), count}, 1);
    }
    require(store->rebuilt() == torn, "a torn block was not noticed, or one was seen that was not");
    require(summary.granted <= summary.inside, "more granted than inside");
    memory = Memory{summary.epoch, summary.version, summary.last_number, summary.inside, summary.waiting, what == 255};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Bytes bytes(data + 1, size - 1);
  data[0] % 2 == 0 ? live_in_a_world(bytes) : call_a_store(bytes);
  return 0;
}
