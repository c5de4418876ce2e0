// The `fairway_store` directive for Valkey and Redis: which hosts, which credentials, which limits. Pure text work: no file is
// read and no name is looked up here.
//
//   valkey://[user:password@]host[:port][/db] [more URLs] [timeout=250ms] [breaker=3s] [sentinel=MASTER] [password=@FILE]
//   [ca=FILE] [verify=on|off]
//
// redis:// means the same as valkey://, valkeys:// and rediss:// add TLS, unix:/path is a local socket. Several hosts are seeds
// of a cluster, or sentinels when `sentinel=` names their master. User and password may be percent-encoded; a user whose password
// is in a file stands alone: user@host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/pacing.h"

namespace fairway::valkey {

// Where a connection goes: a host (name or address, IPv6 without brackets) and port, or the path of a unix socket.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  std::string path;  // not empty: a unix socket, host and port are unused

  bool operator==(const Endpoint&) const = default;
};

// "host:port", "[v6]:port" or "unix:/path", for logs.
std::string to_string(const Endpoint& endpoint);

struct Config {
  std::vector<Endpoint> endpoints;  // at least one
  std::string user;                 // empty: AUTH with the password alone
  std::string password;             // empty: none, or in password_file
  std::string password_file;        // the caller reads its first line into `password`
  std::uint32_t database = 0;
  bool tls = false;
  bool verify = true;    // check the server's certificate
  std::string ca;        // file with trusted certificates; empty: the system's
  std::string sentinel;  // name of the master that the endpoints, sentinels then, watch over
  Micros timeout = 250'000;
  Micros breaker = 3'000'000;
};

// Reads the words after `fairway_store`. nullopt: `error` says what is wrong and what is allowed, without any part of a password.
std::optional<Config> parse_config(std::span<const std::string_view> words, std::string& error);

}  // namespace fairway::valkey
