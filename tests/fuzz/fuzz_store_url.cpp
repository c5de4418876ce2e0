// Any words after fairway_store: a configuration that makes sense, or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "store/valkey/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto end = text.find('\n');
    words.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  std::string error;
  const auto config = fairway::valkey::parse_config(words, error);
  if (config.has_value() != error.empty()) std::abort();
  if (!config) return 0;
  if (config->endpoints.empty() || config->timeout <= 0 || config->breaker <= 0) std::abort();
  for (const auto& endpoint : config->endpoints) {
    if (endpoint.path.empty() == (endpoint.port == 0)) std::abort();
    if (to_string(endpoint).empty()) std::abort();
  }
  return 0;
}
