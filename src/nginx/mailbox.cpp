#include "nginx/mailbox.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

namespace fairway::ngx {

namespace {

constexpr std::size_t kNameBytes = 5;  // unix(7), autobind: a NUL and five bytes of [0-9a-f]
constexpr socklen_t kLength = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kNameBytes);

}  // namespace

ngx_int_t Mailbox::open(ngx_cycle_t* cycle, void (*on_wake)()) noexcept {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof(name);
  const auto* any = reinterpret_cast<const sockaddr*>(&name);
  if (fd < 0 || ::bind(fd, any, sizeof(sa_family_t)) != 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0 ||
      length != kLength || (connection_ = ngx_get_connection(fd, cycle->log)) == nullptr) {
    ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_errno, "fairway: no socket for waking this worker");
    if (fd >= 0) {
      ::close(fd);
    }
    return NGX_ERROR;
  }
  std::memcpy(&address_, name.sun_path + 1, kNameBytes);
  on_wake_ = on_wake;
  connection_->data = this;
  connection_->pool = cycle->pool;
  connection_->read->handler = on_readable;
  connection_->read->log = cycle->log;
  connection_->write->log = cycle->log;
  connection_->read->channel = 1;  // nginx's shutdown passes it over: it is no client's connection
  connection_->write->channel = 1;
  if (ngx_add_event(connection_->read, NGX_READ_EVENT, 0) != NGX_OK) {
    close();
    return NGX_ERROR;
  }
  return NGX_OK;
}

void Mailbox::close() noexcept {
  if (connection_ != nullptr) {
    ngx_close_connection(connection_);
    connection_ = nullptr;
    address_ = 0;
  }
}

bool Mailbox::wake(Address address) const noexcept {
  if (connection_ == nullptr || address == 0) {
    return false;
  }
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, &address, kNameBytes);
  const ssize_t sent = ::sendto(connection_->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&name), kLength);
  return sent == 1 || errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
}

void Mailbox::on_readable(ngx_event_t* event) noexcept {
  auto* connection = static_cast<ngx_connection_t*>(event->data);
  char bytes[64];
  while (::recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0) {
  }
  static_cast<Mailbox*>(connection->data)->on_wake_();
}

}  // namespace fairway::ngx
