// Any text as `to`: the target is a path on this host, and Location says it in URL characters. The same text as a request URI
// comes back through the argument.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "core/redirect.h"

namespace {

using namespace fairway;

std::string encoded(std::size_t (*encode)(std::string_view, std::span<char>) noexcept, std::string_view text) {
  std::string out(text.size() * 3, '\0');
  out.resize(encode(text, out));
  return out;
}

bool allowed(std::string_view target) {
  if (target.empty() || target.size() > kMaxTarget || target[0] != '/' || (target.size() > 1 && target[1] == '/')) return false;
  for (const char c : target) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '\\') return false;
  }
  return true;
}

void check_location(std::string_view target) {
  constexpr std::string_view kUrl = "-._~:/?#[]@!$&'()*+,;=%ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const std::string location = encoded(encode_location, target);
  FUZZ_CHECK(location.find_first_not_of(kUrl) == std::string::npos);
  FUZZ_CHECK(allowed(location) || location.size() > kMaxTarget);
  FUZZ_CHECK(target.find_first_not_of(kUrl) != std::string_view::npos || location == target);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::array<char, kMaxTarget> out;
  const std::string_view target = decode_target(text, out);
  FUZZ_CHECK(allowed(target));
  check_location(target);

  const std::string argument = encoded(encode_argument, text);
  FUZZ_CHECK(argument.find_first_of("&=?# \\\"") == std::string::npos);
  FUZZ_CHECK(decode_target(argument, out) == (allowed(text) ? text : "/"));
  return 0;
}
