// Any text as a cost that an application reports, or as a setting's value: what is taken is within its bounds, and a duration or rate is
// the same when it is written and read again.
#include <cstdint>
#include <string_view>

#include "check.h"
#include "core/cost_value.h"
#include "operate/values.h"

using namespace fairway;
using namespace fairway::operate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto cost = parse_cost(text)) FUZZ_CHECK(*cost >= 1 && *cost <= 60'000'000'000);
  if (const auto time = parse_duration(text)) {
    FUZZ_CHECK(*time >= 0 && *time <= kMaxDuration);
    FUZZ_CHECK(parse_duration(duration_text(*time)) == *time);
  }
  if (const auto rate = parse_rate(text)) {
    FUZZ_CHECK(rate->count >= 1 && rate->count <= 1'000'000);
    FUZZ_CHECK(parse_rate(rate_text(*rate))->count == rate->count);
  }
  if (const auto count = parse_count(text, 3, 70'000)) FUZZ_CHECK(*count >= 3 && *count <= 70'000);
  if (is_room_name(text)) FUZZ_CHECK(!text.empty() && text.size() <= kMaxRoomName);
  if (is_plain_text(text)) FUZZ_CHECK(is_utf8(text));
  is_cookie_domain(text);
  return 0;
}
