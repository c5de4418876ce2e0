#include "operate/attach.h"

#include <algorithm>

#include "operate/values.h"

namespace fairway::operate {

namespace {

constexpr std::size_t kMaxHost = 253;
constexpr std::size_t kMaxPath = 1'000;

bool is_label_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool is_address(std::string_view text) noexcept {
  return text.size() > 2 && text.ends_with(']') && std::ranges::all_of(text.substr(1, text.size() - 2), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
         });
}

}  // namespace

bool is_host(std::string_view text) noexcept {
  if (text.empty() || text.size() > kMaxHost) {
    return false;
  }
  if (text.front() == '[') {
    return is_address(text);
  }
  return text.front() != '.' && text.back() != '.' && text.find("..") == std::string_view::npos &&
         std::ranges::all_of(text, [](char c) { return is_label_byte(c) || c == '.'; });
}

bool is_path(std::string_view text) {
  if (!text.starts_with('/') || text.size() > kMaxPath || !is_plain_text(text)) {
    return false;
  }
  if (text.find_first_of("?#\t\n") != std::string_view::npos || text.find("//") != std::string_view::npos) {
    return false;
  }
  const std::string closed = std::string(text) + "/";
  return closed.find("/./") == std::string::npos && closed.find("/../") == std::string::npos;
}

bool covers(std::string_view path, std::string_view uri) noexcept {
  return uri.starts_with(path) && (path.ends_with('/') || uri.size() == path.size() || uri[path.size()] == '/');
}

void AttachTable::add(std::string_view host, std::string_view path, std::size_t room) {
  auto& places = hosts_[std::string(host)];
  const auto at = std::ranges::find_if(places, [path](const Place& place) { return place.path.size() < path.size(); });
  places.insert(at, {std::string(path), room});
}

std::optional<std::size_t> AttachTable::find(std::string_view host, std::string_view uri) const noexcept {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) {
    return std::nullopt;
  }
  const auto place = std::ranges::find_if(found->second, [uri](const Place& candidate) { return covers(candidate.path, uri); });
  return place == found->second.end() ? std::nullopt : std::optional(place->room);
}

bool AttachTable::has(std::string_view host, std::size_t room) const noexcept {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && std::ranges::any_of(found->second, [room](const Place& place) { return place.room == room; });
}

}  // namespace fairway::operate
