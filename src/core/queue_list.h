// Doubly linked lists over arrays of records, by 32-bit index: what shared memory allows (no pointers, no allocation).
#pragma once

#include <cstdint>

namespace fairway::queue {

inline constexpr std::uint32_t kNone = 0xffffffff;  // no record

struct Link {
  std::uint32_t prev = kNone;
  std::uint32_t next = kNone;
};

struct List {
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;

  bool empty() const noexcept { return first == kNone; }
};

// The link `member` of record `index`; a record may be in one list per link.
template <auto member, class Record>
Link& link_of(Record* records, std::uint32_t index) noexcept {
  return records[index].*member;
}

// Inserts `index` behind `before`, or first when `before` is kNone.
template <auto member, class Record>
void insert_after(Record* records, List& list, std::uint32_t before, std::uint32_t index) noexcept {
  const std::uint32_t next = before == kNone ? list.first : link_of<member>(records, before).next;
  link_of<member>(records, index) = {before, next};
  (before == kNone ? list.first : link_of<member>(records, before).next) = index;
  (next == kNone ? list.last : link_of<member>(records, next).prev) = index;
}

template <auto member, class Record>
void push_back(Record* records, List& list, std::uint32_t index) noexcept {
  insert_after<member>(records, list, list.last, index);
}

template <auto member, class Record>
void remove(Record* records, List& list, std::uint32_t index) noexcept {
  const Link link = link_of<member>(records, index);
  (link.prev == kNone ? list.first : link_of<member>(records, link.prev).next) = link.next;
  (link.next == kNone ? list.last : link_of<member>(records, link.next).prev) = link.prev;
  link_of<member>(records, index) = {};
}

template <auto member, class Record>
std::uint32_t pop_front(Record* records, List& list) noexcept {
  const std::uint32_t index = list.first;
  if (index != kNone) remove<member>(records, list, index);
  return index;
}

}  // namespace fairway::queue
