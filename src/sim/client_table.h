// The clients that cost most, in a memory that does not grow with how many there are: the Space-Saving algorithm (Metwally, Agrawal
// and El Abbadi, 2005). When the table is full, the client of least cost makes room and the newcomer takes over its cost as `excess`:
// whoever has more than an even share of the table's cost is surely in it, and has cost at least cost - excess.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/flow.h"
#include "sim/histogram.h"

namespace fairway::sim {

// What a client would have met under one order.
struct Fate {
  Histogram waits;            // of the requests that got a slot, µs
  std::uint64_t refused = 0;  // full, evicted or timed out

  void add(const Fate& other) noexcept;
};

struct ClientKey {
  OuterKey network;
  std::uint64_t session = 0;

  bool operator==(const ClientKey&) const = default;
};

struct ClientRecord {
  ClientKey key;
  std::uint64_t requests = 0;
  double cost = 0;            // s
  double excess = 0;          // s of it may be others'
  std::array<Fate, 2> fates;  // by order
  std::uint32_t serial = 0;   // grows when the record becomes another client's

  double surely() const noexcept { return cost - excess; }
};

class ClientTable {
 public:
  // Names a record as long as it is that client's.
  struct Ref {
    std::uint32_t index = 0;
    std::uint32_t serial = 0;
  };

  explicit ClientTable(std::size_t size) : size_(size) {}

  // One more request of this client, which takes `seconds`.
  Ref note(const ClientKey& key, double seconds);
  // The fate of the client if it is still known, else that of all others.
  Fate& fate(const Ref& ref, std::size_t order) noexcept;

  const std::vector<ClientRecord>& records() const noexcept { return records_; }
  const std::array<Fate, 2>& others() const noexcept { return others_; }
  std::uint64_t forgotten() const noexcept { return forgotten_; }  // how often a record became another client's

 private:
  struct Hash {
    std::size_t operator()(const ClientKey& key) const noexcept;
  };

  std::uint32_t replace_least();

  std::size_t size_;
  std::unordered_map<ClientKey, std::uint32_t, Hash> index_;
  std::vector<ClientRecord> records_;
  std::vector<double> costs_;  // of the records, close together, since the least is looked for often
  std::array<Fate, 2> others_;
  std::uint64_t forgotten_ = 0;
};

}  // namespace fairway::sim
