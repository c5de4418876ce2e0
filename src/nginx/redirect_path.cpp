#include "nginx/redirect_path.h"

#include "core/redirect.h"

namespace fairway::ngx {

std::string_view check_path(ngx_http_request_t* r, const RoomConf& room) noexcept {
  constexpr std::string_view kAction = "check?to=";
  std::string_view uri = view(r->unparsed_uri);
  if (uri.empty() || uri.front() != '/' || uri.size() > kMaxTarget) {
    uri = "/";
  }
  auto* text = static_cast<char*>(ngx_pnalloc(r->pool, room.path.len + kAction.size() + 3 * uri.size()));
  if (text == nullptr) {
    return {};
  }
  std::size_t size = view(room.path).copy(text, room.path.len);
  size += kAction.copy(text + size, kAction.size());
  size += encode_argument(uri, {text + size, 3 * uri.size()});
  return {text, size};
}

std::string_view checked_target(ngx_http_request_t* r) noexcept {
  ngx_str_t argument{};
  u_char name[] = "to";
  if (ngx_http_arg(r, name, 2, &argument) != NGX_OK) {
    return "/";
  }
  char decoded[kMaxTarget];
  const std::string_view target = decode_target(view(argument), decoded);
  auto* text = static_cast<char*>(ngx_pnalloc(r->pool, 3 * target.size()));
  return text == nullptr ? std::string_view{} : std::string_view{text, encode_location(target, {text, 3 * target.size()})};
}

}  // namespace fairway::ngx
