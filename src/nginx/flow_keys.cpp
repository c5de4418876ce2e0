#include "nginx/flow_keys.h"

#include <span>

#include "core/cookies.h"

namespace fairway::ngx {

namespace {

ClientAddress address_of(const sockaddr* address) noexcept {
  switch (address->sa_family) {
    case AF_INET: {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
      return ClientAddress::v4(std::span<const std::uint8_t, 4>(bytes, 4));
    }
    case AF_INET6: {
      const auto* bytes = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr.s6_addr;
      return ClientAddress::v6(std::span<const std::uint8_t, 16>(bytes, 16));
    }
    case AF_UNIX:
      return ClientAddress::unix_socket();
    default:
      return ClientAddress::unknown();
  }
}

std::span<ngx_str_t> names(const ngx_array_t* list) noexcept {
  return {static_cast<ngx_str_t*>(list->elts), list->nelts};
}

void add_cookie(ngx_http_request_t* r, InnerKey& key, std::string_view name) noexcept {
  std::string_view value[1];
  bool found = false;
  filter_cookies(r, [&](const ngx_table_elt_t& header) noexcept {
    found = found || find_cookies(view(header.value), name, value) != 0;
    return true;
  });
  if (found) {
    key.add(value[0]);
  } else {
    key.absent();
  }
}

void add_header(ngx_http_request_t* r, InnerKey& key, std::string_view name) noexcept {
  for (const ngx_list_part_t* part = &r->headers_in.headers.part; part != nullptr; part = part->next) {
    for (const ngx_table_elt_t& header : std::span(static_cast<const ngx_table_elt_t*>(part->elts), part->nelts)) {
      if (header.lowcase_key != nullptr && std::string_view(reinterpret_cast<const char*>(header.lowcase_key), header.key.len) == name) {
        key.add(view(header.value));
        return;
      }
    }
  }
  key.absent();
}

}  // namespace

FlowKeys flow_keys(ngx_http_request_t* r, const QueueConf& conf, const SipKey& secret) noexcept {
  const ClientAddress address = address_of(r->connection->sockaddr);
  const OuterKey outer = outer_key(address, conf.outer_v4, conf.outer_v6);
  InnerKey key(outer);
  if (conf.inner_address) {
    key.address(address);
  }
  for (const ngx_str_t& name : names(conf.inner_cookies)) {
    add_cookie(r, key, view(name));
  }
  for (const ngx_str_t& name : names(conf.inner_headers)) {
    add_header(r, key, view(name));
  }
  return {secret, outer, key.digest(secret)};
}

}  // namespace fairway::ngx
