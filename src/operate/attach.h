// Which room a request belongs to when its location leaves that to the console: by host, then by the longest path.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairway::operate {

// A host as nginx normalises it: lower case, no port, no dot at the end; an IPv6 address in brackets.
bool is_host(std::string_view text) noexcept;
// A path as nginx normalises it: from the root, nothing to resolve, no query, no control characters; at most 1,000 bytes.
bool is_path(std::string_view text);

// True when `path` is a beginning of `uri` that ends where a segment does. Case counts.
bool covers(std::string_view path, std::string_view uri) noexcept;

class AttachTable {
 public:
  // `room`: whatever find() is to answer.
  void add(std::string_view host, std::string_view path, std::size_t room);
  // The room of the longest path that covers `uri`.
  std::optional<std::size_t> find(std::string_view host, std::string_view uri) const noexcept;
  // Whether a room is attached to some path of the host.
  bool has(std::string_view host, std::size_t room) const noexcept;
  bool empty() const noexcept { return hosts_.empty(); }

 private:
  struct Place {
    std::string path;
    std::size_t room;
  };
  std::map<std::string, std::vector<Place>, std::less<>> hosts_;  // longest path first
};

}  // namespace fairway::operate
