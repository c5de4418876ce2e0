#include "core/arena.h"

#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/offset_ptr.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>

namespace fairway {

namespace {

using Heap = boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family>;

constexpr std::size_t kLine = 64;        // records start on a cache line
constexpr std::size_t kCarve = 256;      // records made at once while memory is plenty
constexpr std::size_t kTableShare = 16;  // one part in so many is never made into records

Heap* as_heap(void* heap) noexcept {
  return static_cast<Heap*>(heap);
}

}  // namespace

Arena* Arena::create(void* block, std::size_t size) noexcept {
  constexpr std::size_t header = (sizeof(Arena) + kLine - 1) / kLine * kLine;
  if (size < header + Heap::get_min_size(0) + kCarve * kRecord) return nullptr;
  void* base = static_cast<char*>(block) + header;
  Heap* heap = new (base) Heap(size - header, 0);
  return new (block) Arena(heap, size - header);
}

bool Arena::carve() noexcept {
  Heap* heap = as_heap(heap_);
  for (std::size_t count = kCarve; count > 0; count /= 4) {
    if (heap->get_free_memory() < size_ / kTableShare + count * kRecord) continue;
    char* chunk = static_cast<char*>(heap->allocate_aligned(count * kRecord, kLine));
    if (chunk == nullptr) continue;
    for (std::size_t i = count; i-- > 0;) give_record(chunk + i * kRecord);
    return true;
  }
  return false;
}

void* Arena::take_record() noexcept {
  if (free_ == nullptr && !carve()) return nullptr;
  FreeRecord* record = free_;
  free_ = record->next;
  --free_records_;
  return record;
}

void Arena::give_record(void* record) noexcept {
  free_ = new (record) FreeRecord{free_};
  ++free_records_;
}

void* Arena::take_table(std::size_t bytes) noexcept {
  return as_heap(heap_)->allocate(bytes);
}

void Arena::give_table(void* table) noexcept {
  as_heap(heap_)->deallocate(table);
}

std::size_t Arena::free_bytes() const noexcept {
  return as_heap(heap_)->get_free_memory() + free_records_ * kRecord;
}

std::size_t Arena::free_record_bytes() const noexcept {
  const std::size_t heap = as_heap(heap_)->get_free_memory();
  return free_records_ * kRecord + (heap > size_ / kTableShare ? heap - size_ / kTableShare : 0);
}

}  // namespace fairway
