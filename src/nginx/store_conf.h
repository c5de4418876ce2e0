// `fairway_store valkey://…` as nginx needs it: the parsed words, the addresses behind the names, the TLS context. Made when the
// configuration is read; names are looked up then and never in a worker, which must not wait.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "nginx/ngx.h"
#include "store/valkey/url.h"

namespace fairway::ngx {

struct StoreAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

struct StoreConf {
  valkey::Config config;
  std::vector<std::vector<StoreAddress>> addresses;  // of each of config.endpoints
  ngx_ssl_t* ssl = nullptr;                          // nullptr: no TLS
  std::string hosts;                                 // for logs

  // Where a node is: a configured host, or the plain address that a redirect or a sentinel named. Empty when it is a name that
  // is not among the configured ones.
  std::vector<StoreAddress> find(const valkey::Endpoint& endpoint) const;
};

// Reads the words after `fairway_store`, the password file and the certificates, and looks the hosts up. nullptr: what is wrong was
// said in the log.
StoreConf* parse_store(ngx_conf_t* cf, std::span<const std::string_view> words) noexcept;

}  // namespace fairway::ngx
