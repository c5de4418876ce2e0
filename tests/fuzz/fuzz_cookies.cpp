// Any text as a Cookie header: what is found lies in it, and stripping takes every cookie of ours and no other byte that matters.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "check.h"
#include "core/cookies.h"

namespace {

using namespace fairway;

bool is_ours(std::string_view name) {
  return name.starts_with(kTicketCookie) || name.starts_with(kPassCookie);
}

// Goes to the next piece that has anything but blanks.
bool next_filled(CookieReader& reader) {
  while (reader.next()) {
    if (!reader.name().empty() || reader.piece().find('=') != std::string_view::npos) return true;
  }
  return false;
}

bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view header(reinterpret_cast<const char*>(data), size);
  std::array<std::string_view, kMaxSameCookies> found;
  const std::size_t count = find_cookies(header, "fairway_pass_a", found);
  FUZZ_CHECK(count <= found.size());
  for (std::size_t i = 0; i < count; ++i) FUZZ_CHECK(lies_in(found[i], header));

  std::string out(size, '\0');
  std::size_t ours = 0;
  std::size_t same = 0;  // as find_cookies found
  const StrippedCookies result = strip_cookies(header, out, [&](std::string_view name, std::string_view value) {
    ++ours;
    if (name == "fairway_pass_a" && same < count) FUZZ_CHECK(found[same++].data() == value.data());
  });
  FUZZ_CHECK(same == count);
  FUZZ_CHECK(result.removed == (ours != 0));
  FUZZ_CHECK(result.size <= size);
  out.resize(result.size);
  FUZZ_CHECK(result.removed || out.empty() || out == header);
  FUZZ_CHECK(count == 0 || result.removed);
  CookieReader before(header);
  CookieReader after(out);
  while (next_filled(before)) {
    if (is_ours(before.name())) continue;
    FUZZ_CHECK(next_filled(after));
    FUZZ_CHECK(after.name() == before.name() && after.value() == before.value());
    FUZZ_CHECK(!is_ours(after.name()));
  }
  FUZZ_CHECK(!next_filled(after));
  return 0;
}
