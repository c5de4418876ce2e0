// The memory store: rooms by name in one block, torn blocks, processes killed inside a call.
#include "store/memory/memory_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>

#include "room_visit.h"

namespace fairway::room::test {
namespace {

constexpr std::size_t kSize = 1 << 20;
constexpr std::int32_t kPid = 4711;

class MemoryStoreTest : public ::testing::Test {
 protected:
  Answer one(std::string_view room, Kind kind, Visitor& v) {
    Operation op{.kind = kind, .sid = v.sid, .epoch = v.epoch, .number = v.number};
    if (kind == Kind::heartbeat) op.admitted = v.admitted;
    Answer answer;
    summary = store->call(room, now, settings, memory, {&op, 1}, {&answer, 1}, kPid);
    if (answer.number != 0) {
      v.epoch = answer.epoch;
      v.number = answer.number;
      v.admitted = answer.admitted_at;
    }
    return answer;
  }
  void remember() { memory = Memory{summary.epoch, summary.version, summary.last_number, summary.inside, summary.waiting, false}; }
  // What a killed worker leaves behind: its mark, and any bytes whatever in the rest of the block.
  void tear() {
    auto* bytes = static_cast<unsigned char*>(block.data());
    const std::int32_t mark = 12345;
    std::memcpy(bytes + 12, &mark, sizeof mark);
    for (std::size_t i = 128; i < block.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 31 + 7);
  }

  Block block{kSize};
  MemoryStore* store = MemoryStore::create(block.data(), block.size());
  Settings settings = settings_of(1);
  Memory memory;
  Summary summary;
  Micros now = kStart;
};

TEST_F(MemoryStoreTest, NeedsABlockOfSomeSize) {
  EXPECT_EQ(MemoryStore::create(block.data(), MemoryStore::kMinSize - 1), nullptr);
  EXPECT_NE(MemoryStore::create(block.data(), MemoryStore::kMinSize), nullptr);
}

TEST_F(MemoryStoreTest, AttachKnowsItsOwnLayoutOnly) {
  EXPECT_EQ(MemoryStore::attach(block.data(), kSize), store);
  EXPECT_EQ(MemoryStore::attach(block.data(), kSize / 2), nullptr);
  static_cast<char*>(block.data())[8] ^= 0x40;  // another layout version
  EXPECT_EQ(MemoryStore::attach(block.data(), kSize), nullptr);
  static_cast<char*>(block.data())[8] ^= 0x40;
  static_cast<char*>(block.data())[0] ^= 0x40;
  EXPECT_EQ(MemoryStore::attach(block.data(), kSize), nullptr);
}

TEST_F(MemoryStoreTest, RoomsAreIndependent) {  // case 12
  Visitor a{.sid = sid_of(1)};
  Visitor b = a;
  EXPECT_EQ(one("sale", Kind::enter, a).state, State::admitted);
  EXPECT_EQ(one("shop", Kind::enter, b).state, State::admitted);
  one("sale", Kind::release, a);
  EXPECT_EQ(one("shop", Kind::heartbeat, b).state, State::admitted);
}

TEST_F(MemoryStoreTest, AnEarlierConfigurationsRoomsAreThereAfterAttach) {
  Visitor a{.sid = sid_of(1)}, b{.sid = sid_of(2)};
  one("sale", Kind::enter, a);
  one("sale", Kind::enter, b);
  store = MemoryStore::attach(block.data(), kSize);
  EXPECT_EQ(one("sale", Kind::poll, b).rank, 1U);
}

TEST_F(MemoryStoreTest, ListsAndRemovesRooms) {
  Visitor v{.sid = sid_of(1)};
  for (const char* name : {"b", "a", "c"}) one(name, Kind::enter, v);
  std::array<char, MemoryStore::kMaxName> out;
  std::string names, name;
  while (const std::size_t size = store->next_room(name, out, kPid)) {
    name.assign(out.data(), size);
    names += name;
  }
  EXPECT_EQ(names, "abc");
  EXPECT_TRUE(store->remove("b", kPid));
  EXPECT_TRUE(store->remove("never was", kPid));
  EXPECT_EQ(store->next_room("a", out, kPid), 1U);
  EXPECT_EQ(out[0], 'c');
}

TEST_F(MemoryStoreTest, RemovingALargeRoomTakesSeveralCallsAndGivesItsMemoryBack) {
  settings.capacity = 0;
  Visitor other{.sid = sid_of(99999)};
  one("other", Kind::enter, other);
  const std::size_t before = store->free_bytes();
  for (std::uint64_t i = 1; i <= 2500; ++i) {
    Visitor v{.sid = sid_of(i)};
    ASSERT_EQ(one("sale", Kind::enter, v).state, State::waiting);
  }
  int calls = 1;
  while (!store->remove("sale", kPid)) ++calls;
  EXPECT_EQ(calls, 3);
  EXPECT_GE(store->free_bytes() + 1024, before);
}

TEST_F(MemoryStoreTest, ARemovedRoomHasNothingToDoWithALaterOneOfItsName) {
  settings.capacity = 2000;
  for (std::uint64_t i = 1; i <= 1500; ++i) {
    Visitor v{.sid = sid_of(i)};
    ASSERT_EQ(one("sale", Kind::enter, v).state, State::admitted);
  }
  EXPECT_FALSE(store->remove("sale", kPid));
  std::array<char, MemoryStore::kMaxName> out;
  EXPECT_EQ(store->next_room("", out, kPid), 0U);
  Visitor v{.sid = sid_of(9999)};
  EXPECT_EQ(one("sale", Kind::enter, v).state, State::admitted);
  EXPECT_EQ(summary.inside, 1U) << "while the old one is being cleared away";
  EXPECT_TRUE(store->clean(kPid));
  EXPECT_TRUE(store->clean(kPid));
  EXPECT_EQ(one("sale", Kind::heartbeat, v).state, State::admitted);
  EXPECT_EQ(summary.inside, 1U);
}

TEST_F(MemoryStoreTest, AnEmptyRoomTakesLittle) {
  settings.max_waiting = 10'000'000;
  const std::size_t before = store->free_bytes();
  for (int room = 0; room < 100; ++room) {
    Visitor v{.sid = sid_of(1)};
    ASSERT_EQ(one("room-" + std::to_string(room), Kind::enter, v).state, State::admitted);
  }
  EXPECT_LT(before - store->free_bytes(), 100U * 5000);
}

TEST_F(MemoryStoreTest, TellsWhetherOneMoreRoomFits) {
  EXPECT_TRUE(store->fits_room(kPid));
  std::array<char, MemoryStore::kMaxName> out;
  EXPECT_EQ(store->next_room("", out, kPid), 0U) << "it made none";
  settings.capacity = 1'000'000;
  Visitor v;
  for (std::uint64_t i = 1; v.number != 0 || i == 1; ++i) {
    v = {.sid = sid_of(i)};
    one("sale", Kind::enter, v);
  }
  EXPECT_LT(store->free_for_sessions(), 2 * Arena::kRecord);
  EXPECT_FALSE(store->fits_room(kPid));
  EXPECT_GT(store->free_bytes(), 0U) << "a part is kept for tables";
}

TEST_F(MemoryStoreTest, TooManyRoomsAreBusyAndHarmNobody) {
  Visitor first{.sid = sid_of(1)};
  one("first", Kind::enter, first);
  Answer answer;
  int made = 0;
  for (; made < 100'000; ++made) {
    Visitor v{.sid = sid_of(2)};
    answer = one("room-" + std::to_string(made), Kind::enter, v);
    if (answer.state == State::no_memory) break;
  }
  EXPECT_EQ(answer.state, State::no_memory);
  EXPECT_GT(made, 20);
  EXPECT_EQ(one("first", Kind::heartbeat, first).state, State::admitted);
}

TEST_F(MemoryStoreTest, ARoomThatCannotBeMadeForgetsNothingForTheGateway) {
  memory = Memory{.epoch = 5, .version = 6, .last_number = 7, .inside = 8, .waiting = 9};
  Visitor v{.sid = sid_of(2)};
  EXPECT_EQ(one(std::string(33, 'x'), Kind::enter, v).state, State::no_memory);
  EXPECT_EQ(summary.epoch, 5U);
  EXPECT_EQ(summary.version, 6U);
  EXPECT_EQ(summary.inside, 8U);
}

TEST_F(MemoryStoreTest, BytesForAreEnough) {
  const std::size_t size = (MemoryStore::bytes_for(20'000) + 4095) / 4096 * 4096;
  Block large(size);
  store = MemoryStore::create(large.data(), large.size());
  settings.capacity = 1000;
  settings.max_waiting = 19'000;
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    Visitor v{.sid = sid_of(i)};
    ASSERT_NE(one("sale", Kind::enter, v).state, State::no_memory) << i;
  }
  EXPECT_EQ(summary.waiting, 19'000U);
}

TEST_F(MemoryStoreTest, ATornBlockIsDiscardedAndEveryRoomRecovers) {
  settings.capacity = 2;
  std::vector<Visitor> crowd;
  for (std::uint64_t i = 1; i <= 6; ++i) {
    crowd.push_back(Visitor{.sid = sid_of(i)});
    one("sale", Kind::enter, crowd.back());
  }
  remember();
  tear();
  store = MemoryStore::attach(block.data(), kSize);
  ASSERT_NE(store, nullptr);
  now += kSecond;
  for (std::size_t i = 6; i-- > 2;) EXPECT_EQ(one("sale", Kind::poll, crowd[i]).state, State::waiting);
  EXPECT_EQ(store->rebuilt(), 1U);
  EXPECT_GT(summary.epoch, memory.epoch);
  EXPECT_TRUE(summary.recovering);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(one("sale", Kind::heartbeat, crowd[i]).state, State::admitted);
  now += recovery_window(settings);
  for (std::size_t i = 2; i < 6; ++i) EXPECT_EQ(one("sale", Kind::poll, crowd[i]).rank, i - 1);
  EXPECT_EQ(store->rebuilt(), 1U);
}

TEST_F(MemoryStoreTest, EveryKindOfCallNoticesATornBlock) {
  std::array<char, MemoryStore::kMaxName> out;
  Visitor v{.sid = sid_of(1)};
  one("sale", Kind::enter, v);
  tear();
  EXPECT_EQ(store->free_bytes(), 0U);
  EXPECT_EQ(store->next_room("", out, kPid), 0U);
  tear();
  EXPECT_EQ(store->free_for_sessions(), 0U);
  EXPECT_TRUE(store->remove("sale", kPid));
  tear();
  EXPECT_TRUE(store->clean(kPid));
  tear();
  EXPECT_TRUE(store->fits_room(kPid));
  tear();
  Changes changes;
  EXPECT_EQ(store->stats("sale", now, settings, memory, 0, changes, kPid).inside, 0U);
  tear();
  EXPECT_TRUE(store->cut("sale", now, settings, memory, Cut{}, summary, kPid).done);
  EXPECT_EQ(store->rebuilt(), 6U);
}

// A process is killed at a random moment inside a call, again and again; whatever it left, the next one goes on: nobody is inside
// twice, the line keeps its order, and nothing crashes.
class KilledWorker : public ::testing::Test {
 protected:
  struct Shared {
    std::atomic<std::uint64_t> calls;
  };

  void* map(std::size_t size) { return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); }

  // Works on the store until it is killed. No system call between two calls of the store: a signal prefers to arrive at one.
  [[noreturn]] static void work(MemoryStore& store, Shared& shared, const Settings& settings, std::uint64_t seed) {
    const pid_t self = getpid();
    Micros now = kStart + static_cast<Micros>(seed) * kMinute;
    for (std::uint64_t i = seed * 1'000'000;; ++i) {
      Operation op{.kind = i % 3 == 0 ? Kind::release : Kind::enter, .sid = sid_of(i / 2), .epoch = 1, .number = i + 1};
      Answer answer;
      store.call("sale", now += 100, settings, Memory{}, {&op, 1}, {&answer, 1}, self);
      shared.calls.fetch_add(1);
    }
  }
};

TEST_F(KilledWorker, LeavesNothingThatTheNextOneCannotUse) {
  constexpr std::size_t kBlock = 4 << 20;
  void* block = map(kBlock);
  auto* shared = new (map(4096)) Shared{};
  MemoryStore* store = MemoryStore::create(block, kBlock);
  Settings settings = settings_of(50);
  settings.session_timeout = 2 * kSecond;
  constexpr std::uint64_t kRounds = 60;
  constexpr std::uint64_t kMost = 3'000;  // where kills seldom fall into a call, more of them
  for (std::uint64_t round = 0; round < kRounds || (store->rebuilt() == 0 && round < kMost); ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) work(*store, *shared, settings, round);
    const std::uint64_t before = shared->calls.load();
    while (shared->calls.load() < before + 50 + round % kRounds * 7 && waitpid(child, nullptr, WNOHANG) == 0) sched_yield();
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    store = MemoryStore::attach(block, kBlock);
    ASSERT_NE(store, nullptr);
    Answer answer;
    const Operation op{.kind = Kind::enter, .sid = sid_of(77)};
    const Micros now = kStart + static_cast<Micros>(round) * kMinute;
    const Summary summary = store->call("sale", now, settings, Memory{}, {&op, 1}, {&answer, 1}, getpid());
    EXPECT_LE(summary.inside, 50U);
    EXPECT_TRUE(answer.state == State::admitted || answer.state == State::waiting || answer.state == State::gone);
  }
  EXPECT_GT(store->rebuilt(), 0U) << "no kill fell into a call, so this showed nothing";
  munmap(block, kBlock);
  munmap(shared, 4096);
}

}  // namespace
}  // namespace fairway::room::test
