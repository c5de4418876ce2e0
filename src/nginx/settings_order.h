// A question of a worker to a shared store about its settings, for a call of the API that waits for the answer.
#pragma once

#include <memory>

#include "nginx/store_client.h"
#include "nginx/worker.h"

namespace fairway::ngx {

class SettingsOrder final : private Asker {
 public:
  explicit SettingsOrder(Worker& worker) noexcept : worker_(worker) {}
  ~SettingsOrder() override {
    if (ticket_ != 0) {
      worker_.store()->withdraw(ticket_);
    }
  }
  SettingsOrder(const SettingsOrder&) = delete;
  SettingsOrder& operator=(const SettingsOrder&) = delete;

  void ask(valkey::SettingsRequest request) noexcept {
    reply_ = nullptr;
    outcome_ = valkey::Outcome::failed;
    ticket_ = worker_.store()->settings(*this, std::move(request));
  }
  // Posted when the answer has come.
  void set_wake(ngx_event_t* event) noexcept { wake_ = event; }
  bool waits() const noexcept { return ticket_ != 0; }
  // Once it waits no more. `reply`: of answered.
  valkey::Outcome outcome() const noexcept { return outcome_; }
  const valkey::SettingsReply& reply() const noexcept { return *reply_; }

 private:
  void answered(const valkey::Completion& completion) noexcept override {
    ticket_ = 0;
    outcome_ = completion.outcome;
    reply_ = completion.settings;
    if (wake_ != nullptr) {
      post(wake_);
    }
  }

  Worker& worker_;
  ngx_event_t* wake_ = nullptr;
  StoreClient::Ticket ticket_ = 0;
  valkey::Outcome outcome_ = valkey::Outcome::failed;
  std::shared_ptr<const valkey::SettingsReply> reply_;
};

}  // namespace fairway::ngx
