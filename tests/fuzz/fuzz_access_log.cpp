// Any lines as nginx's access log, of which clients write the half: no crash, and times that a replay can count with.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "check.h"
#include "cli/access_log.h"

using namespace fairway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const operate::QueueSettings settings;
  const cli::AccessLog log(settings);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  cli::LogCounts counts;
  std::uint64_t lines = 0;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++lines;
    sim::EndedRequest ended{};
    if (log.take(line, ended, counts) == cli::LineKind::request) {
      FUZZ_CHECK(ended.second >= 0 && ended.took >= 0);
    }
  }
  FUZZ_CHECK(counts.lines == lines && counts.unreadable + counts.without_upstream <= lines);
  return 0;
}
