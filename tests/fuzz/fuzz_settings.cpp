// Operators' changes as JSON, from the state folder, the shared store or the body of a request (first byte): no crash; what is taken can
// be written and read again, is shown as it counts, and merging comes to the same whoever begins.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "operate/queue_settings.h"
#include "operate/room_settings.h"
#include "operate/settings_json.h"
#include "operate/shared_adjustments.h"
#include "operate/shared_keys.h"

namespace {

using namespace fairway;
using namespace fairway::operate;

Adjustments read_back(const Adjustments& all) {
  std::string why;
  const auto again = Adjustments::parse(all.text(), why);
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(again->text() == all.text());
  return *again;
}

template <class Conf>
void show(std::span<const Field<Conf>> fields, const Overrides& overrides) {
  Conf conf;
  if (apply(fields, overrides, conf)) return;
  FUZZ_CHECK(settings_json(fields, conf, overrides).size() == fields.size());
  Overrides rest = overrides;
  settle(fields, Conf{}, rest);
  FUZZ_CHECK(rest.size() <= overrides.size());
}

void read_text(std::string_view text) {
  std::string why;
  const auto all = Adjustments::parse(text, why);
  FUZZ_CHECK(all.has_value() || !why.empty());
  if (!all) return;
  read_back(*all);
  for (const auto& [name, room] : all->rooms) {
    show(room_fields(), room.fields);
    FUZZ_CHECK(attach_json(room.attach).size() == room.attach.size());
    difference({}, room, {});
  }
  for (const auto& [name, fields] : all->queues) show(queue_fields(), fields);
}

void merge_texts(std::string_view text) {
  const std::size_t middle = std::min(text.find('\n'), text.size());
  std::string why;
  const auto one = Adjustments::parse(text.substr(0, middle), why);
  const auto other = Adjustments::parse(text.substr(std::min(middle + 1, text.size())), why);
  if (!one || !other) return;
  const FileOf none = [](std::string_view) { return std::optional<RoomSettings>(); };
  const Adjustments shared = shared_part(*one);
  const Adjustments merged = merge(shared, shared_part(*other), none);
  FUZZ_CHECK(merge(merged, shared_part(*other), none).rooms == merged.rooms);
  Adjustments stamped = merged;
  const std::uint64_t version = next_version(merged, 0);
  stamp(shared, stamped, version);
  for (const auto& [name, room] : shared.rooms) FUZZ_CHECK(room.version < version);
}

template <class Conf>
void take_all(std::span<const Field<Conf>> fields, const Json& body) {
  Overrides overrides;
  for (const auto& [name, value] : body.items()) {
    const Field<Conf>* field = find_field(fields, name);
    if (field == nullptr) continue;
    const Overrides before = overrides;
    if (const auto problem = take(*field, value, Conf{}, true, overrides)) {
      FUZZ_CHECK(problem->field == name && !problem->detail.empty());
      FUZZ_CHECK(overrides == before);
    }
  }
  Conf conf;
  FUZZ_CHECK(!apply(fields, overrides, conf));
  const Json shown = settings_json(fields, conf, overrides);
  for (const auto& [name, override] : overrides) FUZZ_CHECK(find_field(fields, name) != nullptr && !shown[name].is_null());
}

void take_body(std::string_view text) {
  const Json body = Json::parse(text, nullptr, false);
  if (body.is_discarded() || !body.is_object()) return;
  take_all(room_fields(), body);
  take_all(queue_fields(), body);
  std::vector<Attachment> attach;
  if (body.contains("attach") && !take_attach(body["attach"], attach)) FUZZ_CHECK(attach.size() <= kMaxAttachments);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      read_text(text);
      break;
    case 1:
      merge_texts(text);
      break;
    case 2:
      take_body(text);
      break;
    default: {
      const std::vector<std::string> theirs{text};
      FUZZ_CHECK(compare_keys(text, theirs).foreign.size() <= kMostSharedKeys);
    }
  }
  return 0;
}
