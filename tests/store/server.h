// A real server for the tests: started in a folder of its own on a unix socket, ended with the object. STORE_BIN names the binary
// (redis-server by default; any Redis from 6.2 on or Valkey will do).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/valkey/resp.h"

namespace fairway::test {

class Server {
 public:
  // `options`: more configuration, as on the command line of the server.
  explicit Server(std::vector<std::string> options = {}, bool sentinel = false);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string socket() const { return (folder_ / "socket").string(); }
  // Ends the process as a crash would; a later start() finds nothing of its data.
  void kill();
  void start();

 private:
  std::vector<std::string> options_;
  bool sentinel_;
  std::filesystem::path folder_;
  pid_t pid_ = 0;
};

// A TCP port of loopback that is free now, as is the one 10,000 above (the bus of a cluster).
std::uint16_t free_port();

// A blocking connection. Fails the test by an exception when the server does not answer.
class Connection {
 public:
  explicit Connection(const Server& server);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  valkey::Value command(std::initializer_list<std::string_view> words);
  valkey::Value command(const std::vector<std::string>& words);
  // Sends whole commands and reads `replies` replies.
  std::vector<valkey::Value> exchange(std::string_view bytes, std::size_t replies);

 private:
  int socket_ = -1;
  valkey::ReplyReader reader_;
};

}  // namespace fairway::test
