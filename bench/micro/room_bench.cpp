// A room in memory with 100,000 and 1,000,000 waiting: what enter, poll and release cost, and how many bytes a waiter takes.
// One operation a call, as a worker does under light load; the visitor is another one each time, so nothing is in the caches but
// what a busy room keeps there.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "store/memory/memory_store.h"

namespace {

using fairway::MemoryStore;
using fairway::Micros;
using fairway::Sid;
namespace room = fairway::room;

class Crowd {
 public:
  explicit Crowd(std::size_t waiting) : size_(MemoryStore::bytes_for(waiting + waiting / 2)) {
    block_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    store_ = MemoryStore::create(block_, size_);
    settings_.capacity = 100;
    settings_.max_waiting = static_cast<std::uint32_t>(2 * waiting);
    settings_.session_timeout = settings_.abandon_timeout = 1'000'000'000'000;
    for (std::size_t i = 0; i < waiting + settings_.capacity; ++i) {
      sids_.push_back(sid());
      run(room::Kind::enter, sids_.back());
    }
    sids_.erase(sids_.begin(), sids_.begin() + settings_.capacity);
    std::shuffle(sids_.begin(), sids_.end(), random_);
  }
  ~Crowd() { munmap(block_, size_); }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  room::Answer run(room::Kind kind, const Sid& sid) {
    room::Operation op{.kind = kind, .sid = sid, .gap = 20'000'000};
    if (kind != room::Kind::enter) op.epoch = op.number = 1;
    room::Answer answer;
    store_->call("sale", now_ += 10, settings_, {}, {&op, 1}, {&answer, 1}, 1);
    return answer;
  }
  Sid sid() {
    Sid sid;
    for (auto& byte : sid.bytes) byte = static_cast<std::uint8_t>(random_());
    return sid;
  }
  const Sid& somebody() { return sids_[next_++ % sids_.size()]; }
  std::vector<Sid>& sids() { return sids_; }
  std::size_t used() const { return size_ - store_->free_bytes(); }
  std::size_t waiting() const { return sids_.size(); }
  MemoryStore& store() { return *store_; }

 private:
  std::size_t size_;
  void* block_;
  MemoryStore* store_;
  room::Settings settings_;
  std::vector<Sid> sids_;
  std::size_t next_ = 0;
  std::mt19937_64 random_{42};
  Micros now_ = 1'700'000'000'000'000;
};

void poll(benchmark::State& state) {
  Crowd crowd(static_cast<std::size_t>(state.range(0)));
  while (state.KeepRunning()) benchmark::DoNotOptimize(crowd.run(room::Kind::poll, crowd.somebody()));
  state.counters["bytes/waiter"] = static_cast<double>(crowd.used()) / static_cast<double>(crowd.waiting());
}

void enter(benchmark::State& state) {
  Crowd crowd(static_cast<std::size_t>(state.range(0)));
  while (state.KeepRunning()) {
    crowd.sids().push_back(crowd.sid());
    if (crowd.run(room::Kind::enter, crowd.sids().back()).state != room::State::waiting) state.SkipWithError("the line is full");
  }
}

// Leaves the line from anywhere in it.
void release(benchmark::State& state) {
  Crowd crowd(static_cast<std::size_t>(state.range(0)));
  while (state.KeepRunning()) benchmark::DoNotOptimize(crowd.run(room::Kind::release, crowd.somebody()));
}

BENCHMARK(poll)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(enter)->Arg(100'000)->Iterations(40'000);
BENCHMARK(enter)->Arg(1'000'000)->Iterations(400'000);
BENCHMARK(release)->Arg(100'000)->Iterations(50'000);
BENCHMARK(release)->Arg(1'000'000)->Iterations(500'000);

}  // namespace
