#include "operate/settings_json.h"

#include <algorithm>

#include "operate/attach.h"

namespace fairway::operate {

namespace {

Problem problem(std::string detail) {
  return {"attach", "\"attach\" " + std::move(detail)};
}

std::optional<Problem> take_one(const Json& value, std::vector<Attachment>& all) {
  if (!value.is_object() || !value.contains("host") || !value["host"].is_string()) {
    return problem("must hold objects with a \"host\" and a \"path\", both strings");
  }
  Attachment attachment{value["host"].get<std::string>(), "/"};
  std::ranges::transform(attachment.host, attachment.host.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const auto& [name, part] : value.items()) {
    if (name == "path" && part.is_string()) {
      attachment.path = part.get<std::string>();
    } else if (name != "host") {
      return problem("must hold objects with a \"host\" and a \"path\", both strings");
    }
  }
  if (!is_host(attachment.host)) {
    return problem("needs hosts such as shop.example.com, without a port");
  }
  if (!is_path(attachment.path)) {
    return problem("needs paths such as /checkout: from the root, without a query, \"//\" or \"..\", at most 1000 bytes");
  }
  if (std::ranges::find(all, attachment) != all.end()) {
    return problem("names " + attachment.host + attachment.path + " twice");
  }
  all.push_back(std::move(attachment));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> text_of(Form form, const Json& value) {
  if (form == Form::number) {
    const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    return whole ? std::optional(std::to_string(value.get<std::uint64_t>())) : std::nullopt;
  }
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

Json attach_json(const std::vector<Attachment>& attach) {
  Json all = Json::array();
  for (const Attachment& attachment : attach) {
    all.push_back({{"host", attachment.host}, {"path", attachment.path}});
  }
  return all;
}

std::optional<Problem> take_attach(const Json& value, std::vector<Attachment>& attach) {
  std::vector<Attachment> all;
  if (!value.is_null() && (!value.is_array() || value.size() > kMaxAttachments)) {
    return problem("must be an array of at most 16 objects with a \"host\" and a \"path\"");
  }
  for (const Json& one : value.is_null() ? Json::array() : value) {
    if (auto found = take_one(one, all)) {
      return found;
    }
  }
  attach = std::move(all);
  return std::nullopt;
}

}  // namespace fairway::operate
