// One connection to a node of the store, over TCP, TLS or a unix socket: bytes only; what they mean is a valkey::Link's business.
// Tells its owner what happens by plain calls from nginx's event handlers. Its destructor closes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nginx/store_conf.h"
#include "store/valkey/link.h"

namespace fairway::ngx {

class StoreSocket {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void opened(valkey::Link::Id id) noexcept = 0;
    virtual bool received(valkey::Link::Id id, std::string_view bytes) noexcept = 0;  // false: nothing more is wanted of it
    virtual void writable() noexcept = 0;
    virtual void closed(valkey::Link::Id id, std::string_view why) noexcept = 0;  // it may not be destroyed inside this call
    virtual void exiting() noexcept = 0;                                          // nginx asks idle connections to close
  };

  // Tries the addresses in turn until one of them connects. `log` takes what nginx says of the connection.
  StoreSocket(Owner& owner, const StoreConf& conf, const valkey::Link& link, ngx_log_t* log);
  ~StoreSocket() { close(); }
  StoreSocket(const StoreSocket&) = delete;
  StoreSocket& operator=(const StoreSocket&) = delete;

  valkey::Link::Id id() const noexcept { return id_; }
  // Begins to connect. False, with why(), when no address is left to try.
  bool connect() noexcept;
  // Sends what it can, and erases that from the front. False: the connection is of no more use.
  bool send(std::string& bytes) noexcept;
  // Whether nginx may close it when it winds up.
  void set_idle(bool idle) noexcept;
  std::string_view why() const noexcept { return why_; }
  void close() noexcept;

 private:
  static void on_connect(ngx_event_t* event) noexcept;
  static void on_read(ngx_event_t* event) noexcept;
  static void on_write(ngx_event_t* event) noexcept;
  static void on_handshake(ngx_connection_t* connection) noexcept;
  static StoreSocket& of(ngx_event_t* event) noexcept;

  bool try_next() noexcept;
  void connected() noexcept;
  bool shake_hands() noexcept;
  void shaken() noexcept;
  void open() noexcept;
  void read() noexcept;
  void fail(std::string_view why) noexcept;

  Owner& owner_;
  const StoreConf& conf_;
  valkey::Link::Id id_;
  valkey::Endpoint to_;
  ngx_log_t* log_;
  ngx_connection_t* connection_ = nullptr;
  std::vector<StoreAddress> addresses_;
  std::size_t next_ = 0;  // address
  bool open_ = false;
  std::string text_;  // of the endpoint, for nginx
  std::string why_;
};

}  // namespace fairway::ngx
