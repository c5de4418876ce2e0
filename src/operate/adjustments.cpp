#include "operate/adjustments.h"

#include <nlohmann/json.hpp>

#include "operate/attach.h"
#include "operate/values.h"

namespace fairway::operate {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::uint64_t kMaxVersion = std::uint64_t{1} << 62;  // what follows has to be larger

ordered_json fields_json(const Overrides& overrides) {
  ordered_json all = ordered_json::object();
  for (const auto& [name, override] : overrides) {
    ordered_json entry = {{"value", override.value}, {"file", override.file}};
    if (override.at != 0) {
      entry["at"] = override.at;
    }
    if (override.here) {
      entry["here"] = *override.here;
    }
    if (override.over) {
      entry["over"] = true;
    }
    all[name] = std::move(entry);
  }
  return all;
}

std::uint64_t version_of(const json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end()) {
    return 0;
  }
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > kMaxVersion) {
    throw std::invalid_argument("a version is out of its range");
  }
  return found->get<std::uint64_t>();
}

Overrides fields_of(const json& all) {
  Overrides overrides;
  for (const auto& [name, entry] : all.items()) {
    Override override{entry.at("value").get<std::string>(), entry.at("file").get<std::string>()};
    override.at = version_of(entry, "at");
    override.over = entry.value("over", false);
    if (entry.contains("here")) {
      override.here = entry.at("here").get<std::string>();
    }
    overrides[name] = std::move(override);
  }
  return overrides;
}

ordered_json room_json(const RoomAdjustment& room) {
  ordered_json attach = ordered_json::array();
  for (const Attachment& attachment : room.attach) {
    attach.push_back({{"host", attachment.host}, {"path", attachment.path}});
  }
  ordered_json all = {{"made", room.made}, {"mode", mode_name(room.mode)}, {"fields", fields_json(room.fields)}, {"attach", attach}};
  if (room.version != 0) {
    all["version"] = room.version;
  }
  if (room.in_file) {
    all["in_file"] = true;
  }
  return all;
}

RoomAdjustment room_of(const json& entry) {
  RoomAdjustment room;
  room.made = entry.at("made").get<bool>();
  const auto mode = parse_mode(entry.at("mode").get<std::string>());
  if (!mode) {
    throw std::invalid_argument("a mode is none of normal, hold, open, closed");
  }
  room.mode = *mode;
  room.fields = fields_of(entry.at("fields"));
  room.version = version_of(entry, "version");
  room.in_file = entry.value("in_file", false);
  for (const json& attachment : entry.at("attach")) {
    room.attach.push_back({attachment.at("host").get<std::string>(), attachment.at("path").get<std::string>()});
    if (!is_host(room.attach.back().host) || !is_path(room.attach.back().path)) {
      throw std::invalid_argument("a host or path is not of its form");
    }
  }
  return room;
}

void refuse_name(const std::string& name) {
  if (!is_room_name(name)) {
    throw std::invalid_argument("a name is not of its form");
  }
}

}  // namespace

std::string Adjustments::text() const {
  ordered_json all = {{"version", kFormat}, {"rooms", ordered_json::object()}, {"queues", ordered_json::object()}};
  for (const auto& [name, room] : rooms) {
    all["rooms"][name] = room_json(room);
  }
  for (const auto& [name, overrides] : queues) {
    all["queues"][name] = fields_json(overrides);
  }
  return all.dump(1) + "\n";
}

std::optional<Adjustments> Adjustments::parse(std::string_view text, std::string& why) {
  try {
    const json all = json::parse(text);
    if (all.at("version") != kFormat) {
      why = "it is of another version";
      return std::nullopt;
    }
    Adjustments found;
    for (const auto& [name, entry] : all.at("rooms").items()) {
      refuse_name(name);
      found.rooms[name] = room_of(entry);
    }
    for (const auto& [name, entry] : all.at("queues").items()) {
      refuse_name(name);
      found.queues[name] = fields_of(entry);
    }
    return found;
  } catch (const json::parse_error& error) {
    why = "it is no JSON (it " + where_json_ends(error.byte, text.size()) + ")";
  } catch (const json::exception&) {
    why = "something is missing or of the wrong type";
  } catch (const std::invalid_argument& error) {
    why = error.what();
  }
  return std::nullopt;
}

std::string where_json_ends(std::size_t byte, std::size_t size) {
  const std::string all = std::to_string(size);
  return byte > size ? "ends too early, after " + all + (size == 1 ? " byte" : " bytes")
                     : "goes wrong at byte " + std::to_string(byte) + " of " + all;
}

std::vector<std::string_view> words_of(Form form, std::size_t at_most, std::string_view value) {
  if (form == Form::note || at_most == 1) {
    return {value};
  }
  std::vector<std::string_view> words;
  while (words.size() <= at_most) {
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (value.empty()) {
      break;
    }
    words.push_back(value.substr(0, value.find(' ')));
    value.remove_prefix(words.back().size());
  }
  return words;
}

}  // namespace fairway::operate
