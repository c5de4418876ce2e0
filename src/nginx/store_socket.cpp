#include "nginx/store_socket.h"

#include <netinet/in.h>

#include <cstring>

namespace fairway::ngx {

namespace {

constexpr std::size_t kReadSize = 64 * 1024;  // bytes at once

bool is_address(const std::string& host) noexcept {
  return host.find_first_not_of("0123456789.") == std::string::npos || host.find(':') != std::string::npos;
}

}  // namespace

StoreSocket::StoreSocket(Owner& owner, const StoreConf& conf, const valkey::Link& link, ngx_log_t* log)
    : owner_(owner),
      conf_(conf),
      id_(link.id()),
      to_(link.to()),
      log_(log),
      addresses_(conf.find(link.to())),
      text_(valkey::to_string(link.to())),
      why_("its name is not among those of fairway_store: nodes must announce addresses or those names") {}

StoreSocket& StoreSocket::of(ngx_event_t* event) noexcept {
  return *static_cast<StoreSocket*>(static_cast<ngx_connection_t*>(event->data)->data);
}

bool StoreSocket::connect() noexcept {
  while (next_ < addresses_.size()) {
    if (try_next()) {
      return true;
    }
  }
  return false;
}

bool StoreSocket::try_next() noexcept {
  StoreAddress& address = addresses_[next_++];
  ngx_str_t name = str(text_);
  ngx_peer_connection_t peer{};
  peer.sockaddr = reinterpret_cast<sockaddr*>(&address.address);
  peer.socklen = address.size;
  peer.name = &name;
  peer.get = ngx_event_get_peer;
  peer.log = log_;
  peer.log_error = NGX_ERROR_ERR;
  peer.so_keepalive = address.address.ss_family == AF_UNIX ? 0 : 1;
  const ngx_int_t rc = ngx_event_connect_peer(&peer);
  if (rc != NGX_OK && rc != NGX_AGAIN) {
    why_ = std::strerror(ngx_errno);
    if (peer.connection != nullptr) {
      ngx_close_connection(peer.connection);
    }
    return false;
  }
  connection_ = peer.connection;
  connection_->data = this;
  connection_->log = log_;
  connection_->read->log = log_;
  connection_->write->log = log_;
  connection_->pool = ngx_create_pool(256, log_);
  if (connection_->pool == nullptr) {
    why_ = "no memory";
    close();
    return false;
  }
  connection_->read->handler = on_connect;
  connection_->write->handler = on_connect;
  if (rc == NGX_OK) {  // a unix socket: the write event tells, as it does for the others
    post(connection_->write);
  }
  return true;
}

void StoreSocket::on_connect(ngx_event_t* event) noexcept {
  StoreSocket& self = of(event);
  if (self.connection_->close != 0) {
    self.owner_.exiting();
    return;
  }
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(self.connection_->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    error = errno;
  }
  if (error == 0) {
    if (event->write != 0) {
      self.connected();
    }
    return;
  }
  self.close();
  if (!self.connect()) {
    self.owner_.closed(self.id_, std::strerror(error));
  }
}

void StoreSocket::connected() noexcept {
  connection_->read->handler = on_read;
  connection_->write->handler = on_write;
  if (to_.path.empty() && ngx_tcp_nodelay(connection_) != NGX_OK) {
    fail("the socket refuses TCP_NODELAY");
    return;
  }
  if (conf_.ssl == nullptr) {
    open();
  } else if (!shake_hands()) {
    fail("TLS cannot be set up");
  }
}

bool StoreSocket::shake_hands() noexcept {
  if (ngx_ssl_create_connection(conf_.ssl, connection_, NGX_SSL_BUFFER | NGX_SSL_CLIENT) != NGX_OK) {
    return false;
  }
  SSL* ssl = connection_->ssl->connection;
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl);
  if (is_address(to_.host)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, to_.host.c_str()) != 1) {
      return false;
    }
  } else if (X509_VERIFY_PARAM_set1_host(wanted, to_.host.data(), to_.host.size()) != 1 ||
             SSL_set_tlsext_host_name(ssl, to_.host.c_str()) != 1) {
    return false;
  }
  if (ngx_ssl_handshake(connection_) == NGX_AGAIN) {
    connection_->ssl->handler = on_handshake;
  } else {
    shaken();
  }
  return true;
}

void StoreSocket::on_handshake(ngx_connection_t* connection) noexcept {
  static_cast<StoreSocket*>(connection->data)->shaken();
}

void StoreSocket::shaken() noexcept {
  if (connection_->ssl->handshaked == 0) {
    fail("the TLS handshake failed");
    return;
  }
  if (const long result = SSL_get_verify_result(connection_->ssl->connection); conf_.config.verify && result != X509_V_OK) {
    fail(X509_verify_cert_error_string(result));
    return;
  }
  connection_->read->handler = on_read;
  connection_->write->handler = on_write;
  open();
}

void StoreSocket::open() noexcept {
  open_ = true;
  if (ngx_handle_read_event(connection_->read, 0) != NGX_OK) {
    fail("no event for it");
    return;
  }
  owner_.opened(id_);
  if (connection_->read->ready != 0) {
    read();  // it may have been closed already
  }
}

void StoreSocket::on_read(ngx_event_t* event) noexcept {
  StoreSocket& self = of(event);
  if (self.connection_->close != 0) {
    self.owner_.exiting();
  } else {
    self.read();
  }
}

void StoreSocket::on_write(ngx_event_t* event) noexcept {
  of(event).owner_.writable();
}

void StoreSocket::read() noexcept {
  static u_char buffer[kReadSize];
  while (connection_ != nullptr) {
    const ssize_t got = connection_->recv(connection_, buffer, sizeof(buffer));
    if (got == NGX_AGAIN) {
      if (ngx_handle_read_event(connection_->read, 0) != NGX_OK) {
        fail("no event for it");
      }
      return;
    }
    if (got <= 0) {
      fail(got == 0 ? "closed by the other side" : "reading failed");
      return;
    }
    if (!owner_.received(id_, {reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(got)})) {
      close();
    }
  }
}

bool StoreSocket::send(std::string& bytes) noexcept {
  while (open_ && !bytes.empty()) {
    const ssize_t sent = connection_->send(connection_, reinterpret_cast<u_char*>(bytes.data()), bytes.size());
    if (sent == NGX_AGAIN || sent == 0) {
      return ngx_handle_write_event(connection_->write, 0) == NGX_OK;
    }
    if (sent < 0) {
      why_ = "writing failed";
      return false;
    }
    bytes.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

void StoreSocket::set_idle(bool idle) noexcept {
  if (connection_ != nullptr) {
    connection_->idle = idle ? 1 : 0;
  }
}

void StoreSocket::fail(std::string_view why) noexcept {
  close();
  owner_.closed(id_, why);
}

void StoreSocket::close() noexcept {
  open_ = false;
  if (connection_ == nullptr) {
    return;
  }
  ngx_connection_t* connection = connection_;
  connection_ = nullptr;
  if (connection->ssl != nullptr) {
    connection->ssl->no_wait_shutdown = 1;
    connection->ssl->no_send_shutdown = 1;
    (void)ngx_ssl_shutdown(connection);
  }
  ngx_pool_t* pool = connection->pool;
  ngx_close_connection(connection);
  if (pool != nullptr) {
    ngx_destroy_pool(pool);
  }
}

}  // namespace fairway::ngx
