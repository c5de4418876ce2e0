#include "cli/network.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/failure.h"

namespace fairway::cli {
namespace {

constexpr int kPatience = 1000;  // ms, for all addresses of a name together about that long

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses lookup(const std::string& host, std::uint16_t port, int flags, int& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  return Addresses(error == 0 ? list : nullptr);
}

class Socket {
 public:
  Socket(const addrinfo& address, int flags) : fd_(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// 0 when the connection is accepted, else errno.
int try_connect(const addrinfo& address) {
  const Socket socket(address, SOCK_NONBLOCK);
  if (socket.fd() < 0) return errno;
  if (connect(socket.fd(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd wait{socket.fd(), POLLOUT, 0};
  if (poll(&wait, 1, kPatience) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// 0 when nginx can listen there, else errno.
int try_listen(const addrinfo& address) {
  const Socket socket(address, 0);
  if (socket.fd() < 0) return errno;
  const int on = 1;  // as nginx does, so that connections in TIME_WAIT do not count
  if (setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return errno;
  if (address.ai_family == AF_INET6 && setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) return errno;
  if (bind(socket.fd(), address.ai_addr, address.ai_addrlen) != 0) return errno;
  return listen(socket.fd(), 1) == 0 ? 0 : errno;
}

void check_socket(const Listen& listen) {
  int error = 0;
  const Addresses address = lookup(listen.address, listen.port, AI_NUMERICHOST | AI_NUMERICSERV, error);
  if (!address) throw RunError("cannot listen on " + listen.authority() + ": " + gai_strerror(error));
  error = try_listen(*address);
  if (error == 0) return;
  const std::string where = "cannot listen on " + listen.authority() + ": ";
  if (error == EADDRINUSE) throw RunError(where + "the port is taken by another program; stop that one, or choose another with --listen");
  if (error == EACCES) throw RunError(where + "ports below 1024 need root; choose another with --listen");
  if (error == EADDRNOTAVAIL) throw RunError(where + "this machine does not have that address; see --listen");
  throw RunError(where + std::strerror(error));
}

}  // namespace

void check_listen(const Listen& listen) {
  for (const Listen& socket : listen.sockets()) check_socket(socket);
}

std::string upstream_trouble(const Upstream& upstream) {
  int error = 0;
  const Addresses addresses = lookup(upstream.host, upstream.port, AI_NUMERICSERV, error);
  if (!addresses) return gai_strerror(error);
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    error = try_connect(*address);
    if (error == 0) return "";
    if (error == ETIMEDOUT) break;
  }
  return std::strerror(error);
}

}  // namespace fairway::cli
