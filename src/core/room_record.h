// One record per session of a room, wherever it is: in line, inside, or gone and still remembered. Being one record, a session
// can never have two places, and moving it (promote, drop, end) needs no memory and so cannot fail.
#pragma once

#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/identity.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/ranked_index.hpp>
#include <boost/multi_index_container.hpp>
#include <cstdint>
#include <cstring>
#include <tuple>

#include "core/arena.h"
#include "core/sid.h"

namespace fairway::room {

using Micros = std::int64_t;

// The order matters: waiters come first in every index, so a waiter's rank is its rank among all records.
enum class Place : std::uint8_t { waiting, inside, lost, ended };

struct Record {
  Sid sid;
  // The place in line. Of a session that is gone its token is the memory; here stands what files it behind the others of its kind.
  std::uint64_t number = 0;
  // What it is filed under in time. waiting: due or earlier; inside: expiry; lost: kept until; ended: the version that ended it.
  // A waiter's due moves with each poll, so it is not filed anew each time but when the earlier time comes up.
  std::int64_t when = 0;
  mutable Micros stamp = 0;       // waiting: due; inside: when it was admitted; gone: kept until
  mutable Micros lost_since = 0;  // the first loss of the session; 0: none
  mutable Network network;        // last seen
  Place place : 4 = Place::waiting;
  bool claimed : 1 = false;         // inside: the visitor came for it; false: a grant
  mutable bool called : 1 = false;  // is among the operations of the running call
};

// A key below all sids of its (place, value).
struct PlaceAt {
  Place place;
  std::int64_t value;
};

struct ByNumber {
  using is_transparent = void;
  bool operator()(const Record& a, const Record& b) const noexcept {
    if (a.place != b.place) return a.place < b.place;
    return a.number != b.number ? a.number < b.number : a.sid < b.sid;
  }
};

struct ByTime {
  bool operator()(const Record& a, const Record& b) const noexcept {
    if (a.place != b.place) return a.place < b.place;
    return a.when != b.when ? a.when < b.when : a.sid < b.sid;
  }
  bool operator()(const Record& a, const PlaceAt& b) const noexcept { return a.place != b.place ? a.place < b.place : a.when < b.value; }
  bool operator()(const PlaceAt& a, const Record& b) const noexcept { return a.place != b.place ? a.place < b.place : a.value < b.when; }
};

// Sids are 128 random bits drawn by the gateway and reach a room only in signed tokens, so any 64 of them are a hash already.
// A client cannot make one up; it can only collect tickets and pick among them. To fill one bucket of a table of n it needs about
// n tickets for each record, and each record it then makes counts against entries_per_ip, so a key would buy nothing.
struct SidHash {
  std::size_t operator()(const Sid& sid) const noexcept {
    std::uint64_t bits;
    std::memcpy(&bits, sid.bytes.data(), sizeof bits);
    return bits;
  }
};

struct SameSid {
  bool operator()(const Sid& a, const Sid& b) const noexcept {
    std::uint64_t left[2], right[2];
    std::memcpy(left, a.bytes.data(), sizeof left);
    std::memcpy(right, b.bytes.data(), sizeof right);
    return left[0] == right[0] && left[1] == right[1];
  }
};

struct BySid {};
struct ByNumberTag {};
struct ByTimeTag {};

namespace mi = boost::multi_index;
using Table =
    mi::multi_index_container<Record,
                              mi::indexed_by<mi::hashed_unique<mi::tag<BySid>, mi::member<Record, Sid, &Record::sid>, SidHash, SameSid>,
                                             mi::ranked_unique<mi::tag<ByNumberTag>, mi::identity<Record>, ByNumber>,
                                             mi::ordered_unique<mi::tag<ByTimeTag>, mi::identity<Record>, ByTime>>,
                              ArenaAllocator<Record>>;

}  // namespace fairway::room
