// What calls of the API ask of the request.
#include <charconv>
#include <cstdio>

#include "nginx/address.h"
#include "nginx/api.h"

namespace fairway::ngx {

std::uint64_t ApiCall::number(std::string_view argument, std::uint64_t low, std::uint64_t high, std::uint64_t otherwise) const {
  ngx_str_t value;
  if (ngx_http_arg(r, reinterpret_cast<u_char*>(const_cast<char*>(argument.data())), argument.size(), &value) != NGX_OK) {
    return otherwise;
  }
  const std::string_view text = view(value);
  std::uint64_t found = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  if (error != std::errc{} || end != text.data() + text.size() || found < low || found > high) {
    throw Refusal{
        422, "\"" + std::string(argument) + "\" must be a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ".",
        std::string(argument)};
  }
  return found;
}

RoomConf& ApiCall::room() const {
  if (RoomConf* found = worker.live().find(name)) {
    return *found;
  }
  throw Refusal{404, "There is no room of that name.", ""};
}

QueueConf& ApiCall::queue() const {
  if (QueueConf* found = worker.live().find_queue(name)) {
    return *found;
  }
  throw Refusal{404, "There is no fair queue of that name.", ""};
}

std::string ApiCall::from() const {
  return network_text(r->connection->sockaddr).data();
}

void ApiCall::check_match(std::string_view etag) const {
  const ngx_table_elt_t* wanted = r->headers_in.if_match;
  if (wanted != nullptr && view(wanted->value) != "*" && view(wanted->value).find(etag) == std::string_view::npos) {
    throw Refusal{412, "Somebody has changed this meanwhile: read it again.", ""};
  }
}

std::string etag_of(const Json& settings) {
  const std::string text = settings.dump();
  char tag[24];
  std::snprintf(tag, sizeof(tag), "\"%016llx\"",
                static_cast<unsigned long long>(siphash({0x66616972, 0x77617900}, text.data(), text.size())));
  return tag;
}

}  // namespace fairway::ngx
