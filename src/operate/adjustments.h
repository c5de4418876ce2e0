// What operators have changed while the gateway runs: values in place of the file's, modes, rooms of their own and where those are
// attached. One text holds all of it: in shared memory for the workers, in the state folder for the next start. What of it the gateways
// of one store share is in shared_adjustments.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operate/field.h"
#include "operate/queue_settings.h"
#include "operate/room_settings.h"

namespace fairway::operate {

struct Override {
  std::string value;     // as it was written; several values with a blank between
  std::string file;      // what the file said then: when it says something else, the file wins
  std::uint64_t at = 0;  // version of the room that brought it
  // Of this gateway alone, when another one shared the override:
  std::optional<std::string> here;  // what the file here said then, if that was something else
  bool over = false;                // the file here has changed since: it counts no more

  bool operator==(const Override&) const = default;
  // What the file has to say for the override to stay.
  const std::string& file_here() const noexcept { return here ? *here : file; }
};
using Overrides = std::map<std::string, Override, std::less<>>;  // by field

// Where a room is asked when a location leaves the choice to the console.
struct Attachment {
  std::string host;  // as nginx normalises it: lower case, no port
  std::string path;  // normalised, "/" for all

  auto operator<=>(const Attachment&) const = default;
};

struct RoomAdjustment {
  bool made = false;  // by the console; else nginx.conf defines it
  room::Mode mode = room::Mode::normal;
  Overrides fields;
  std::vector<Attachment> attach;
  std::uint64_t version = 0;  // later ones are larger, whoever made them
  bool in_file = false;       // of this gateway alone: its file defines the room that the console of another one made

  bool operator==(const RoomAdjustment&) const = default;
  bool says_nothing() const noexcept { return !made && mode == room::Mode::normal && fields.empty() && attach.empty(); }
};

struct Adjustments {
  std::map<std::string, RoomAdjustment, std::less<>> rooms;
  std::map<std::string, Overrides, std::less<>> queues;

  bool operator==(const Adjustments&) const = default;
  std::string text() const;  // JSON
  // nullopt, and why, when the text is not of that form. Values are not checked here.
  static std::optional<Adjustments> parse(std::string_view text, std::string& why);
};

// Where a text stops being JSON, by the parser's count: "goes wrong at byte 5 of 8", or "ends too early, after 8 bytes".
std::string where_json_ends(std::size_t byte, std::size_t size);

// The value's words: one for free text, else what blanks separate (at most `at_most` + 1 of them).
std::vector<std::string_view> words_of(Form form, std::size_t at_most, std::string_view value);

// The field of that name; nullptr when there is none.
template <class Conf>
const Field<Conf>* find_field(std::span<const Field<Conf>> fields, std::string_view name) noexcept {
  for (const Field<Conf>& field : fields) {
    if (field.name == name) {
      return &field;
    }
  }
  return nullptr;
}

// Sets one field; what is allowed when the value is not. Texts in `conf` are those of `value` afterwards.
template <class Conf>
std::optional<Problem> set(const Field<Conf>& field, std::string_view value, Conf& conf) {
  const auto words = words_of(field.form, field.at_most, value);
  if (words.size() < field.at_least || words.size() > field.at_most || !field.set(conf, words)) {
    return Problem{std::string(field.name), "\"" + std::string(field.name) + "\" must be " + field.allowed};
  }
  return std::nullopt;
}

// Puts the overrides over `conf`, which holds the file's values before. The first problem stops it.
template <class Conf>
std::optional<Problem> apply(std::span<const Field<Conf>> fields, const Overrides& overrides, Conf& conf) {
  for (const auto& [name, override] : overrides) {
    if (override.over) {
      continue;
    }
    const Field<Conf>* field = find_field(fields, name);
    if (field == nullptr) {
      return Problem{name, "there is no setting \"" + name + "\""};
    }
    if (auto problem = set(*field, override.value, conf)) {
      return problem;
    }
  }
  return std::nullopt;
}

// Takes away the overrides of fields for which the file says something else than when they were made, and tells their names; one of a
// field that is not known is left to unfit(). `shared`: they may go on counting at other gateways, so they are only marked.
template <class Conf>
std::vector<std::string> settle(std::span<const Field<Conf>> fields, const Conf& file, Overrides& overrides, bool shared = false) {
  std::vector<std::string> gone;
  for (auto entry = overrides.begin(); entry != overrides.end();) {
    Override& override = entry->second;
    const Field<Conf>* field = find_field(fields, entry->first);
    if (override.over || field == nullptr || field->get(file) == override.file_here()) {
      ++entry;
      continue;
    }
    gone.push_back(entry->first);
    override.over = true;
    entry = shared ? std::next(entry) : overrides.erase(entry);
  }
  return gone;
}

}  // namespace fairway::operate
