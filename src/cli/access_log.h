// What nginx's access log tells of a request, in the two forms that `fairway simulate queue` reads: the combined format with the
// request's or the upstream's time as its last field, and fairway_json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operate/queue_settings.h"
#include "sim/start_order.h"

namespace fairway::cli {

struct LogCounts {
  std::uint64_t lines = 0;
  std::uint64_t without_upstream = 0;  // answered by nginx alone, or turned into another protocol: they need no slot
  std::uint64_t unreadable = 0;
  std::vector<std::uint64_t> first_unreadable;  // numbers of the first few such lines, from 1
};

enum class LineKind : std::uint8_t { request, without_upstream, unreadable };

class AccessLog {
 public:
  // The settings say what a client is.
  explicit AccessLog(const operate::QueueSettings& settings) : settings_(settings) {}

  // One line. `ended` is filled for a request.
  LineKind parse(std::string_view line, sim::EndedRequest& ended) const;
  // The same, and counts it.
  LineKind take(std::string_view line, sim::EndedRequest& ended, LogCounts& counts) const;

 private:
  LineKind parse_combined(std::string_view line, sim::EndedRequest& ended) const;
  LineKind parse_json(std::string_view line, sim::EndedRequest& ended) const;
  sim::ClientKey client(std::string_view address, std::string_view agent) const;

  const operate::QueueSettings& settings_;
};

}  // namespace fairway::cli
