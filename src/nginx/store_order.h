// What an operator asks of the store, whichever it is: the memory store answers at once, a shared one wakes the event when its answer is
// there. One question at a time.
#pragma once

#include "nginx/store_client.h"
#include "nginx/worker.h"

namespace fairway::ngx {

class StoreOrder final : private Asker {
 public:
  StoreOrder(Worker& worker, const RoomConf& room) noexcept : worker_(worker), room_(room) {}
  ~StoreOrder() override;
  StoreOrder(const StoreOrder&) = delete;
  StoreOrder& operator=(const StoreOrder&) = delete;

  void ask(room::Kind kind, const Sid& sid) noexcept;
  void cut(const room::Cut& cut) noexcept;
  void go_on(std::uint64_t cut_id) noexcept;

  // Posted when an answer has come.
  void set_wake(ngx_event_t* event) noexcept { wake_ = event; }
  bool waits() const noexcept { return ticket_ != 0; }
  // Of the latest question, once it waits no more. False: the store could not be asked.
  bool reached() const noexcept { return reached_; }
  room::State state() const noexcept { return answer_.state; }
  const room::CutStatus& status() const noexcept { return status_; }

 private:
  void answered(const valkey::Completion& completion) noexcept override;
  void asked(StoreClient::Ticket ticket) noexcept;

  Worker& worker_;
  const RoomConf& room_;
  ngx_event_t* wake_ = nullptr;
  StoreClient::Ticket ticket_ = 0;
  bool reached_ = false;
  room::Cut cut_;
  room::Answer answer_;
  room::CutStatus status_;
};

}  // namespace fairway::ngx
