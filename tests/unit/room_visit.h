// Visitors of a room for tests: a gateway's view of one room on a heap block with an injected clock. Each visitor carries what its
// cookies would: the claim, when its ticket was written, when its pass was admitted.
#pragma once

#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "core/arena.h"
#include "core/room_state.h"

namespace fairway::room::test {

inline constexpr Micros kSecond = 1'000'000;
inline constexpr Micros kMinute = 60 * kSecond;
inline constexpr Micros kStart = 1'700'000'000 * kSecond;

inline Sid sid_of(std::uint64_t n) noexcept {
  Sid sid;
  std::uint64_t mixed = n * 0x9e3779b97f4a7c15U;  // spread like the random sids of a gateway
  for (std::size_t i = 0; i < 8; ++i) {
    sid.bytes[i] = static_cast<std::uint8_t>(mixed >> (8 * i));
    sid.bytes[8 + i] = static_cast<std::uint8_t>(n >> (56 - 8 * i));
  }
  return sid;
}

struct Visitor {
  Sid sid;
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;
  Micros issued = 0;    // of the newest ticket; 0: none
  Micros admitted = 0;  // by the newest pass; 0: none
  Micros expires = 0;   // of the newest pass
  Network network;
};

// A page-aligned block of memory.
class Block {
 public:
  explicit Block(std::size_t size) : memory_(std::aligned_alloc(4096, size)), size_(size) {}
  ~Block() { std::free(memory_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* data() const noexcept { return memory_; }
  std::size_t size() const noexcept { return size_; }

 private:
  void* memory_;
  std::size_t size_;
};

// Another store that obeys the same rules, to run the same tests on (tests/store does); nullptr: the rules themselves.
class OtherStore {
 public:
  virtual ~OtherStore() = default;
  virtual Summary call(Micros now, const Settings& settings, const Memory& memory, std::span<const Operation> operations,
                       std::span<Answer> answers) = 0;
  virtual void lose() = 0;
  virtual bool inside(const Sid& sid) = 0;
  virtual bool empty() = 0;  // nothing is known of any session
};
inline OtherStore* other_store = nullptr;

class Room {
 public:
  explicit Room(Settings settings, std::size_t size = 1 << 20) : settings(settings), block_(size) { lose(); }

  Settings settings;
  Memory memory;  // what the gateway remembers
  Micros now = kStart;
  Summary summary;  // of the last call

  Visitor visitor(std::uint64_t n) const { return Visitor{.sid = sid_of(n)}; }
  Answer enter(Visitor& v) { return one(Kind::enter, v); }
  Answer poll(Visitor& v) { return one(Kind::poll, v); }
  Answer heartbeat(Visitor& v) { return one(Kind::heartbeat, v); }
  Answer release(Visitor& v) { return one(Kind::release, v); }
  Answer evict(Visitor& v) { return one(Kind::evict, v); }
  Summary tick() {
    batch({});
    return summary;
  }
  // Calls again as long as work is left, as a gateway does; returns how often.
  int settle() {
    int calls = 0;
    do {
      tick();
      ++calls;
    } while (summary.more_work && calls < 1'000'000);
    return calls;
  }

  Operation operation(Kind kind, const Visitor& v) const {
    Operation op{.kind = kind, .sid = v.sid, .epoch = v.epoch, .number = v.number, .network = v.network};
    if (kind == Kind::heartbeat || kind == Kind::release) op.admitted = v.admitted;
    if (v.issued != 0) op.gap = now - v.issued;
    return op;
  }
  std::vector<Answer> batch(std::vector<Operation> operations) {
    std::vector<Answer> answers(operations.size());
    summary = other_store != nullptr ? other_store->call(now, settings, memory, operations, answers)
                                     : state_->call(now, settings, memory, operations, answers);
    learn();
    return answers;
  }
  // What a gateway writes into the cookies of a visitor it answers.
  void carry(Visitor& v, const Answer& answer) const {
    if (answer.number == 0) return;
    v.epoch = answer.epoch;
    v.number = answer.number;
    v.issued = now;
    if (answer.state == State::admitted) {
      v.admitted = answer.admitted_at / kSecond * kSecond;
      v.expires = answer.expires;
    }
  }

  // The store loses everything; the gateway does not.
  void lose() {
    if (other_store != nullptr) other_store->lose();
    if (state_ != nullptr) state_->~RoomState();
    arena_ = Arena::create(block_.data(), block_.size());
    state_ = new (arena_->take_table(sizeof(RoomState))) RoomState(*arena_);
  }
  bool inside(const Visitor& v) const {
    if (other_store != nullptr) return other_store->inside(v.sid);
    const auto found = state_->table().find(v.sid);
    return found != state_->table().end() && found->place == Place::inside;
  }
  bool empty() const { return other_store != nullptr ? other_store->empty() : state_->table().empty(); }
  RoomState& state() noexcept { return *state_; }
  Arena& arena() noexcept { return *arena_; }
  ~Room() { state_->~RoomState(); }

 private:
  Answer one(Kind kind, Visitor& v) {
    const Answer answer = batch({operation(kind, v)}).front();
    carry(v, answer);
    return answer;
  }
  void learn() noexcept { memory = Memory{summary.epoch, summary.version, summary.last_number, summary.inside, summary.waiting, false}; }

  Block block_;
  Arena* arena_ = nullptr;
  RoomState* state_ = nullptr;
};

inline Settings settings_of(std::uint32_t capacity) {
  Settings settings;
  settings.capacity = capacity;
  return settings;
}

// `count` visitors that entered one after the other, 1 ms apart, numbered from `first`.
inline std::vector<Visitor> arrive(Room& room, std::uint64_t first, std::size_t count) {
  std::vector<Visitor> visitors;
  for (std::size_t i = 0; i < count; ++i) {
    visitors.push_back(room.visitor(first + i));
    room.enter(visitors.back());
    room.now += 1000;
  }
  return visitors;
}

}  // namespace fairway::room::test
