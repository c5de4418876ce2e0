#include "nginx/values.h"

namespace fairway::ngx {

std::optional<std::size_t> parse_bytes(std::string_view text) noexcept {
  ngx_str_t value = str(text);
  const ssize_t size = ngx_parse_size(&value);  // knows k and m only
  if (size >= 0) {
    return static_cast<std::size_t>(size);
  }
  if (text.size() > 1 && (text.back() == 'g' || text.back() == 'G')) {
    if (const auto count = operate::parse_count(text.substr(0, text.size() - 1), 0, 1'024)) {
      return static_cast<std::size_t>(*count) << 30;
    }
  }
  return std::nullopt;
}

ngx_str_t joined(ngx_pool_t* pool, std::string_view before, std::string_view middle, std::string_view after) noexcept {
  auto* data = static_cast<u_char*>(ngx_pnalloc(pool, before.size() + middle.size() + after.size()));
  if (data == nullptr) {
    return {};
  }
  u_char* end = data;
  for (const std::string_view part : {before, middle, after}) {
    end = ngx_cpymem(end, part.data(), part.size());
  }
  return {static_cast<std::size_t>(end - data), data};
}

}  // namespace fairway::ngx
