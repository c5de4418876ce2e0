#include "sim/client_table.h"

#include <algorithm>

namespace fairway::sim {

void Fate::add(const Fate& other) noexcept {
  waits.add(other.waits);
  refused += other.refused;
}

// Keys come from a file of the operator's own; nobody aims at this table.
std::size_t ClientTable::Hash::operator()(const ClientKey& key) const noexcept {
  return static_cast<std::size_t>(siphash({key.session, 0}, &key.network, sizeof key.network));
}

ClientTable::Ref ClientTable::note(const ClientKey& key, double seconds) {
  const auto [found, made] = index_.try_emplace(key, 0);
  if (made && records_.size() < size_) {
    found->second = static_cast<std::uint32_t>(records_.size());
    records_.emplace_back().key = key;
    costs_.push_back(0);
  } else if (made) {
    const std::uint32_t index = replace_least();
    records_[index].key = key;
    index_[key] = index;
    return note(key, seconds);
  }
  const std::uint32_t index = found->second;
  ClientRecord& record = records_[index];
  ++record.requests;
  record.cost += seconds;
  costs_[index] = record.cost;
  return {index, record.serial};
}

std::uint32_t ClientTable::replace_least() {
  const auto least = static_cast<std::size_t>(std::min_element(costs_.begin(), costs_.end()) - costs_.begin());
  ClientRecord& record = records_[least];
  for (std::size_t order = 0; order < 2; ++order) others_[order].add(record.fates[order]);
  index_.erase(record.key);
  ClientRecord next;
  next.cost = next.excess = record.cost;
  next.serial = record.serial + 1;
  record = std::move(next);
  ++forgotten_;
  return static_cast<std::uint32_t>(least);
}

Fate& ClientTable::fate(const Ref& ref, std::size_t order) noexcept {
  ClientRecord& record = records_[ref.index];
  return record.serial == ref.serial ? record.fates[order] : others_[order];
}

}  // namespace fairway::sim
