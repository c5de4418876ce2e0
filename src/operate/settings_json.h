// Settings in the API's JSON: what it shows and what it takes.
#pragma once

#include <nlohmann/json.hpp>

#include "operate/adjustments.h"

namespace fairway::operate {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kMaxAttachments = 16;  // of one room

// A value as it was written, or as field.get() tells it.
template <class Conf>
Json value_json(const Field<Conf>& field, const std::string& text) {
  if (text.empty()) {
    return nullptr;
  }
  return field.form == Form::number ? Json(std::stoul(text)) : Json(text);
}

// Every field by name; overridden ones as they were written.
template <class Conf>
Json settings_json(std::span<const Field<Conf>> fields, const Conf& conf, const Overrides& overrides) {
  Json all = Json::object();
  for (const Field<Conf>& field : fields) {
    const auto override = overrides.find(field.name);
    const bool counts = override != overrides.end() && !override->second.over;
    all[std::string(field.name)] = value_json(field, counts ? override->second.value : field.get(conf));
  }
  return all;
}

// What the file says of the fields that it does not decide.
template <class Conf>
Json file_json(std::span<const Field<Conf>> fields, const Overrides& overrides) {
  Json all = Json::object();
  for (const Field<Conf>& field : fields) {
    if (const auto override = overrides.find(field.name); override != overrides.end() && !override->second.over) {
      all[std::string(field.name)] = value_json(field, override->second.file_here());
    }
  }
  return all;
}

// JSON as text of a field; nullopt: of the wrong type.
std::optional<std::string> text_of(Form form, const Json& value);

// Takes one named field of a change into `overrides`; null, and what the file says anyhow, takes the override away. `keep` holds
// on to it (a room that no file knows).
template <class Conf>
std::optional<Problem> take(const Field<Conf>& field, const Json& value, const Conf& file, bool keep, Overrides& overrides) {
  const std::string name(field.name);
  if (value.is_null()) {
    overrides.erase(name);
    return std::nullopt;
  }
  const auto text = text_of(field.form, value);
  if (!text) {
    return Problem{
        name, "\"" + name + "\" must be " + field.allowed + (field.form == Form::number ? ", as a JSON number" : ", as a JSON string")};
  }
  Conf trial = file;
  if (auto problem = set(field, *text, trial)) {
    return problem;
  }
  const auto known = overrides.find(name);
  if (known != overrides.end() && !known->second.over && known->second.value == *text && known->second.file_here() == field.get(file)) {
    return std::nullopt;
  }
  if (!keep && field.get(trial) == field.get(file)) {
    overrides.erase(name);
  } else {
    overrides[name] = Override{*text, field.get(file)};
  }
  return std::nullopt;
}

// `attach` of a room: what it shows and what it takes.
Json attach_json(const std::vector<Attachment>& attach);
std::optional<Problem> take_attach(const Json& value, std::vector<Attachment>& attach);

}  // namespace fairway::operate
