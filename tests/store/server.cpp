#include "server.h"

#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>

namespace fairway::test {
namespace {

std::string binary() {
  const char* name = std::getenv("STORE_BIN");
  return name != nullptr && *name != '\0' ? name : "redis-server";
}

int connect_to(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (socket >= 0 && ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  if (socket >= 0) ::close(socket);
  return -1;
}

}  // namespace

std::uint16_t free_port() {
  constexpr std::uint16_t kBus = 10'000;
  const auto is_free = [](std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool good = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return good;
  };
  static std::minstd_rand chance{std::random_device{}()};
  std::uniform_int_distribution<std::uint16_t> below{10'000, 10'000 + kBus - 1};  // the ports that the kernel gives to whoever connects
  for (int i = 0; i < 1000; ++i) {
    const std::uint16_t port = below(chance);
    if (is_free(port) && is_free(static_cast<std::uint16_t>(port + kBus))) return port;
  }
  throw std::runtime_error("no free port");
}

Server::Server(std::vector<std::string> options, bool sentinel) : options_(std::move(options)), sentinel_(sentinel) {
  std::string pattern = (std::filesystem::temp_directory_path() / "fairway-store-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the server");
  folder_ = pattern;
  start();
}

Server::~Server() {
  kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Server::start() {
  // A sentinel needs a configuration file that it may write.
  const std::string file = (folder_ / "conf").string();
  std::ofstream(file).close();
  std::vector<std::string> words{binary(),       file,     "--port",    "0",
                                 "--unixsocket", socket(), "--dir",     folder_.string(),
                                 "--daemonize",  "no",     "--logfile", (folder_ / "log").string()};
  if (sentinel_) {
    words.emplace_back("--sentinel");
  } else {
    words.insert(words.end(), {"--save", "", "--appendonly", "no"});
  }
  words.insert(words.end(), options_.begin(), options_.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (::posix_spawnp(&pid_, words[0].c_str(), nullptr, nullptr, pointers.data(), environ) != 0) {
    pid_ = 0;
    throw std::runtime_error("cannot start " + words[0] + "; STORE_BIN names another server binary");
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < give_up) {
    const int socket = connect_to(this->socket());
    if (socket >= 0) {
      ::close(socket);
      return;
    }
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw std::runtime_error(words[0] + " did not start");
}

void Server::kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
  std::error_code ignored;
  std::filesystem::remove(socket(), ignored);
}

Connection::Connection(const Server& server) : socket_(connect_to(server.socket())) {
  if (socket_ < 0) throw std::runtime_error("cannot connect to the server");
  const timeval patience{60, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

Connection::~Connection() {
  ::close(socket_);
}

valkey::Value Connection::command(std::initializer_list<std::string_view> words) {
  std::string bytes;
  valkey::append_command(bytes, std::span(words.begin(), words.size()));
  return std::move(exchange(bytes, 1).front());
}

valkey::Value Connection::command(const std::vector<std::string>& words) {
  std::string bytes;
  valkey::append_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
  return std::move(exchange(bytes, 1).front());
}

std::vector<valkey::Value> Connection::exchange(std::string_view bytes, std::size_t replies) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("the server took no command");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::vector<valkey::Value> values;
  std::array<char, 65536> buffer;
  for (;;) {
    for (valkey::Value value; reader_.next(value) == valkey::ReplyReader::Status::value;) values.push_back(std::move(value));
    if (values.size() >= replies) return values;
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got <= 0) throw std::runtime_error("the server did not answer");
    reader_.feed({buffer.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace fairway::test
