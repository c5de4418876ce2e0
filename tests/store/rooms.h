// One interface over both stores, so that one test suite runs on each and a differential test on both. Time is the test's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server.h"
#include "store/memory/memory_store.h"
#include "store/valkey/protocol.h"

namespace fairway::test {

class AnyStore {
 public:
  virtual ~AnyStore() = default;
  virtual valkey::Response call(const valkey::Request& request, Micros now) = 0;
  // All data is gone, as after a restart without persistence.
  virtual void lose() = 0;
  // Keeps what is there now; roll_back returns to it, as a failover to a replica that missed the last writes does.
  virtual void mark() = 0;
  virtual void roll_back() = 0;
};

class InMemory final : public AnyStore {
 public:
  explicit InMemory(std::size_t size = 8 << 20);
  valkey::Response call(const valkey::Request& request, Micros now) override;
  void lose() override;
  void mark() override;
  void roll_back() override;

 private:
  struct Free {
    void operator()(std::byte* block) const noexcept;
  };
  std::size_t size_;
  std::unique_ptr<std::byte[], Free> block_;
  std::vector<std::byte> marked_;
};

// The script on a real server. The script that gateways send has no way to be told the time; here the one line of its text that
// asks the server for it is exchanged for one that reads a key. The text differs, so its SHA-1 does, and no gateway can run it.
class Scripted final : public AnyStore {
 public:
  explicit Scripted(Server& server);
  valkey::Response call(const valkey::Request& request, Micros now) override;
  void lose() override;
  void mark() override;
  void roll_back() override;
  Connection& connection() { return connection_; }

 private:
  void remove(std::string_view prefix);
  void copy(std::string_view from, std::string_view to);

  Connection connection_;
  std::string sha1_;
};

}  // namespace fairway::test
