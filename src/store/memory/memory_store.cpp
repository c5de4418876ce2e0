#include "store/memory/memory_store.h"

#include <algorithm>
#include <array>
#include <boost/container/map.hpp>
#include <charconv>
#include <new>
#include <utility>

#include "core/arena.h"
#include "core/room_state.h"

namespace fairway {

namespace {

constexpr std::uint64_t kMagic = 0x79617772'69616601;  // "\1fairway"
// Grows with each change of what lies in the block: this header, Arena, RoomState, Record or RateRing.
constexpr std::uint32_t kLayout = 2;
constexpr std::size_t kHeader = 128;     // bytes before the arena
constexpr std::string_view kGone = "~";  // begins the names of removed rooms, which no room's name does; they come last

struct RoomName {
  std::array<char, MemoryStore::kMaxName> text;
  std::uint8_t size;

  explicit RoomName(std::string_view name) noexcept : text{}, size(static_cast<std::uint8_t>(name.size())) {
    std::copy(name.begin(), name.end(), text.begin());
  }
  std::string_view view() const noexcept { return {text.data(), size}; }
};

struct NameOrder {
  using is_transparent = void;
  bool operator()(const RoomName& a, const RoomName& b) const noexcept { return a.view() < b.view(); }
  bool operator()(const RoomName& a, std::string_view b) const noexcept { return a.view() < b; }
  bool operator()(std::string_view a, const RoomName& b) const noexcept { return a < b.view(); }
};

using RoomMap = boost::container::map<RoomName, room::RoomState, NameOrder, ArenaAllocator<std::pair<const RoomName, room::RoomState>>>;

// The answer of a store that had no memory for the room itself: the gateway goes on remembering what it knew.
room::Summary unknown_room(Micros now, const room::Memory& memory) noexcept {
  room::Summary summary;
  summary.now = now;
  summary.epoch = memory.epoch;
  summary.version = memory.version;
  summary.last_number = memory.last_number;
  summary.inside = memory.inside;
  summary.waiting = memory.waiting;
  return summary;
}

}  // namespace

struct MemoryStore::Rooms {
  explicit Rooms(Arena& arena) : map(ArenaAllocator<RoomMap::value_type>(arena)) {}
  // True when no removed room is left.
  bool dissolve() noexcept {
    const auto found = map.lower_bound(kGone);
    if (found != map.end() && found->second.dissolve()) map.erase(found);
    return map.lower_bound(kGone) == map.end();
  }
  RoomMap map;
  std::uint64_t removed = 0;
};

// Says who is inside a call. The fences keep the compiler from moving writes to the block across the mark; a process that dies
// stops between two instructions, so nothing more is needed.
class MemoryStore::Mark {
 public:
  Mark(MemoryStore& store, std::int32_t pid) noexcept : store_(store) {
    if (store_.mutator_.load(std::memory_order_relaxed) != 0) {
      ++store_.rebuilt_;
      store_.lay_out();
    }
    store_.mutator_.store(pid == 0 ? -1 : pid, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Mark() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    store_.mutator_.store(0, std::memory_order_release);
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

 private:
  MemoryStore& store_;
};

MemoryStore::MemoryStore(std::size_t size) noexcept : magic_(kMagic), layout_(kLayout), size_(size) {
  lay_out();
}

MemoryStore* MemoryStore::create(void* block, std::size_t size) noexcept {
  static_assert(sizeof(MemoryStore) <= kHeader);
  return size < kMinSize ? nullptr : new (block) MemoryStore(size);
}

MemoryStore* MemoryStore::attach(void* block, std::size_t size) noexcept {
  if (size < kMinSize) return nullptr;
  auto* store = static_cast<MemoryStore*>(block);
  return store->magic_ == kMagic && store->layout_ == kLayout && store->size_ == size ? store : nullptr;
}

// Everything behind the header anew, whatever is there; nothing of it is read.
void MemoryStore::lay_out() noexcept {
  arena_ = Arena::create(reinterpret_cast<char*>(this) + kHeader, size_ - kHeader);
  rooms_ = new (arena_->take_table(sizeof(Rooms))) Rooms(*arena_);
}

// Runs `run` on the room, made if need be; false when there is no memory for one more room.
template <class Run>
bool MemoryStore::with_room(std::string_view name, std::int32_t pid, Run run) noexcept {
  const Mark mark(*this, pid);
  auto found = rooms_->map.find(name);
  if (found == rooms_->map.end()) {
    if (name.size() > kMaxName) return false;
    try {
      found = rooms_->map.try_emplace(RoomName(name), *arena_).first;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  run(found->second);
  return true;
}

room::Summary MemoryStore::call(std::string_view name, Micros now, const room::Settings& settings, const room::Memory& memory,
                                std::span<const room::Operation> operations, std::span<room::Answer> answers, std::int32_t pid) noexcept {
  room::Summary summary = unknown_room(now, memory);
  const bool made = with_room(name, pid, [&](room::RoomState& state) { summary = state.call(now, settings, memory, operations, answers); });
  if (!made) std::fill(answers.begin(), answers.end(), room::Answer{.state = room::State::no_memory});
  return summary;
}

room::Summary MemoryStore::stats(std::string_view name, Micros now, const room::Settings& settings, const room::Memory& memory,
                                 std::uint64_t since, room::Changes& changes, std::int32_t pid) noexcept {
  room::Summary summary = unknown_room(now, memory);
  changes.ended_count = changes.cut_count = 0;
  changes.more = false;
  with_room(name, pid, [&](room::RoomState& state) { summary = state.stats(now, settings, memory, since, changes); });
  return summary;
}

room::CutStatus MemoryStore::cut(std::string_view name, Micros now, const room::Settings& settings, const room::Memory& memory,
                                 const room::Cut& cut, room::Summary& summary, std::int32_t pid) noexcept {
  summary = unknown_room(now, memory);
  room::CutStatus status;
  with_room(name, pid, [&](room::RoomState& state) { status = state.cut(now, settings, memory, cut, summary); });
  return status;
}

room::CutStatus MemoryStore::go_on(std::string_view name, Micros now, const room::Settings& settings, const room::Memory& memory,
                                   std::uint64_t id, room::Summary& summary, std::int32_t pid) noexcept {
  summary = unknown_room(now, memory);
  room::CutStatus status;
  with_room(name, pid, [&](room::RoomState& state) { status = state.go_on(now, settings, memory, id, summary); });
  return status;
}

std::size_t MemoryStore::next_room(std::string_view name, std::span<char, kMaxName> out, std::int32_t pid) noexcept {
  const Mark mark(*this, pid);
  const auto found = rooms_->map.upper_bound(name);
  if (found == rooms_->map.end() || found->first.view().starts_with(kGone)) return 0;
  const std::string_view text = found->first.view();
  std::copy(text.begin(), text.end(), out.begin());
  return text.size();
}

// Under another name first, so that a room made under the old one meanwhile has nothing to do with it. Needs no memory.
bool MemoryStore::remove(std::string_view name, std::int32_t pid) noexcept {
  const Mark mark(*this, pid);
  if (const auto found = rooms_->map.find(name); found != rooms_->map.end()) {
    auto room = rooms_->map.extract(found);
    char text[kMaxName] = {kGone[0]};
    const auto end = std::to_chars(text + 1, text + sizeof(text), ++rooms_->removed).ptr;
    room.key() = RoomName({text, static_cast<std::size_t>(end - text)});
    rooms_->map.insert(std::move(room));
  }
  return rooms_->dissolve();
}

bool MemoryStore::clean(std::int32_t pid) noexcept {
  const Mark mark(*this, pid);
  return rooms_->dissolve();
}

bool MemoryStore::fits_room(std::int32_t pid) noexcept {
  const Mark mark(*this, pid);
  void* record = arena_->take_record();
  if (record == nullptr) return false;
  arena_->give_record(record);
  try {
    rooms_->map.erase(rooms_->map.try_emplace(RoomName(kGone), *arena_).first);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::size_t MemoryStore::bytes_for(std::uint64_t sessions) noexcept {
  constexpr std::size_t kRooms = 64 * 1024;  // rooms, their rings, the heap's own needs
  constexpr std::size_t kPerSession = 160;   // a record, its bucket, its share of what is kept for tables
  return std::max<std::size_t>(kMinSize, kRooms + sessions * kPerSession);
}

// Nothing of a torn block is read.
std::size_t MemoryStore::free_bytes() const noexcept {
  return mutator_.load(std::memory_order_relaxed) == 0 ? arena_->free_bytes() : 0;
}

std::size_t MemoryStore::free_for_sessions() const noexcept {
  return mutator_.load(std::memory_order_relaxed) == 0 ? arena_->free_record_bytes() : 0;
}

}  // namespace fairway
