#include "operate/shared_adjustments.h"

#include <algorithm>

namespace fairway::operate {

namespace {

constexpr std::size_t kMostGone = 256;  // rooms of which nothing is left but the version

void drop_marks(RoomAdjustment& room) {
  room.in_file = false;
  for (auto& [name, override] : room.fields) {
    override.here.reset();
    override.over = false;
  }
}

bool is_same(const Override& one, const Override& other) noexcept {
  return one.value == other.value && one.file == other.file && one.at == other.at;
}

// The room as another gateway shared it, with the marks of this one.
void set_marks(RoomAdjustment& room, const RoomAdjustment* known, const std::optional<RoomSettings>& in_file) {
  drop_marks(room);
  room.in_file = room.made && in_file;
  const RoomSettings file = in_file.value_or(RoomSettings{});
  for (auto& [name, override] : room.fields) {
    const auto* field = find_field(room_fields(), name);
    const auto before = known == nullptr ? room.fields.end() : known->fields.find(name);
    if (known != nullptr && before != known->fields.end() && is_same(before->second, override)) {
      override = before->second;
    } else if (const std::string here = field == nullptr ? override.file : field->get(file); here != override.file) {
      override.here = here;
    }
  }
}

RoomAdjustment without_marks(RoomAdjustment room) {
  drop_marks(room);
  return room;
}

// The oldest of those that say nothing go when there are too many.
void prune(Rooms& rooms) {
  std::vector<std::uint64_t> gone;
  for (const auto& [name, room] : rooms) {
    if (room.says_nothing()) {
      gone.push_back(room.version);
    }
  }
  if (gone.size() <= kMostGone) {
    return;
  }
  const auto last = gone.begin() + static_cast<std::ptrdiff_t>(gone.size() - kMostGone);
  std::ranges::nth_element(gone, last);
  std::erase_if(rooms, [oldest = *last](const auto& entry) { return entry.second.says_nothing() && entry.second.version < oldest; });
}

}  // namespace

Adjustments shared_part(const Adjustments& all) {
  Adjustments shared;
  shared.rooms = all.rooms;
  for (auto& [name, room] : shared.rooms) {
    drop_marks(room);
  }
  return shared;
}

Adjustments merge(const Adjustments& ours, const Adjustments& theirs, const FileOf& file) {
  Adjustments merged = ours;
  for (const auto& [name, room] : theirs.rooms) {
    const auto known = ours.rooms.find(name);
    const bool is_known = known != ours.rooms.end();
    if (is_known && (room.version < known->second.version || without_marks(room) == without_marks(known->second))) {
      continue;
    }
    RoomAdjustment& place = merged.rooms[name];
    place = room;
    set_marks(place, is_known ? &known->second : nullptr, file(name));
  }
  prune(merged.rooms);
  return merged;
}

void stamp(const Adjustments& before, Adjustments& after, std::uint64_t version) {
  for (const auto& [name, room] : before.rooms) {
    after.rooms.try_emplace(name);
  }
  for (auto& [name, room] : after.rooms) {
    const auto old = before.rooms.find(name);
    if (old != before.rooms.end() && old->second == room) {
      continue;
    }
    room.version = version;
    for (auto& [field, override] : room.fields) {
      const bool stays =
          old != before.rooms.end() && old->second.fields.contains(field) && old->second.fields.find(field)->second == override;
      if (!stays) {
        override.at = version;
      }
    }
  }
  prune(after.rooms);
}

std::uint64_t next_version(const Adjustments& all, std::int64_t now) noexcept {
  auto version = static_cast<std::uint64_t>(now);
  for (const auto& [name, room] : all.rooms) {
    version = std::max(version, room.version + 1);
  }
  return version;
}

std::string difference(const RoomAdjustment& before, const RoomAdjustment& after, const RoomSettings& file) {
  std::string told;
  const auto tell = [&told](std::string_view name, std::string_view from, std::string_view to) {
    told.append(told.empty() ? "" : ", ").append(name).append(" ");
    told.append(from.empty() ? "none" : from).append(" → ").append(to.empty() ? "none" : to);
  };
  RoomSettings was = file;
  RoomSettings is = file;
  if (apply(room_fields(), before.fields, was) || apply(room_fields(), after.fields, is)) {
    return "settings that do not fit nginx.conf here";
  }
  for (const auto& field : room_fields()) {
    if (const std::string from = field.get(was), to = field.get(is); from != to) {
      tell(field.name, from, to);
    }
  }
  if (before.attach != after.attach) {
    const std::size_t places = after.attach.size();
    told.append(told.empty() ? "" : ", ").append("attached to ").append(std::to_string(places)).append(places == 1 ? " place" : " places");
  }
  if (before.mode != after.mode) {
    tell("mode", mode_name(before.mode), mode_name(after.mode));
  }
  return told;
}

}  // namespace fairway::operate
