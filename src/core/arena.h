// Memory from one block, shared by every process that maps the block at the same address: records of one size from a free list,
// tables (bucket arrays, rings, rooms) from a best fit heap. A record given back is at once good for any other record, so churn
// of sessions never fragments the block; tables are few, and a part of the block is kept for them.
//
// Not thread-safe: the caller holds the lock of the block. Nothing here refers to code, so that an older and a newer build may
// share a block as long as its layout version is the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace fairway {

class Arena {
 public:
  static constexpr std::size_t kRecord = 128;  // bytes of a record: two cache lines

  // Lays out an empty arena over `size` bytes at `block` (64-byte aligned). nullptr when that is too little to be of use.
  static Arena* create(void* block, std::size_t size) noexcept;

  // nullptr when nothing is left.
  void* take_record() noexcept;
  void give_record(void* record) noexcept;
  void* take_table(std::size_t bytes) noexcept;
  void give_table(void* table) noexcept;

  // Bytes left for records and tables together.
  std::size_t free_bytes() const noexcept;
  // Of which records can take so many: a part is kept for tables.
  std::size_t free_record_bytes() const noexcept;
  // Records that can surely still be taken.
  std::size_t free_records() const noexcept { return free_records_; }
  std::size_t size() const noexcept { return size_; }

  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

 private:
  struct FreeRecord {
    FreeRecord* next;
  };

  Arena(void* heap, std::size_t size) noexcept : heap_(heap), size_(size) {}
  bool carve() noexcept;

  void* heap_;
  std::size_t size_;
  FreeRecord* free_ = nullptr;
  std::size_t free_records_ = 0;
};

// Standard allocator over an arena: single small objects are records, everything else is a table. Throws std::bad_alloc.
template <class T>
class ArenaAllocator {
 public:
  using value_type = T;

  explicit ArenaAllocator(Arena& arena) noexcept : arena_(&arena) {}
  template <class U>  // NOLINTNEXTLINE(google-explicit-constructor): containers convert allocators without a word
  ArenaAllocator(const ArenaAllocator<U>& other) noexcept : arena_(&other.arena()) {}

  T* allocate(std::size_t count) {
    void* memory = is_record(count) ? arena_->take_record() : arena_->take_table(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) noexcept { is_record(count) ? arena_->give_record(memory) : arena_->give_table(memory); }

  Arena& arena() const noexcept { return *arena_; }
  template <class U>
  bool operator==(const ArenaAllocator<U>& other) const noexcept {
    return arena_ == &other.arena();
  }

 private:
  static constexpr bool is_record(std::size_t count) noexcept { return count == 1 && sizeof(T) <= Arena::kRecord; }

  Arena* arena_;
};

}  // namespace fairway
