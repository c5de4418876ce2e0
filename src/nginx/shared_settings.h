// The operators' changes of rooms on a shared store, so that each gateway of it has them: one text (operate/shared_adjustments.h) with a
// random stamp. The board holds this gateway's copy, which counts also while the store is away, and the stamp of the latest text of the
// store that is in it. One worker twice a second asks for a text with another stamp; what the store lacks it is given. With the questions
// the gateways tell each other which keys they have.
#pragma once

#include <optional>
#include <string>

#include "nginx/store_client.h"
#include "operate/shared_adjustments.h"
#include "store/valkey/settings_call.h"

namespace fairway::ngx {

class SharedSettings final : private Asker {
 public:
  // May throw std::bad_alloc, as all of these that are not noexcept.
  explicit SharedSettings(Worker& worker);
  ~SharedSettings() override;
  SharedSettings(const SharedSettings&) = delete;
  SharedSettings& operator=(const SharedSettings&) = delete;

  // Looks for changes of others; when one worker does so twice a second, each gateway has them within one.
  void sync() noexcept;

  // A question about what the store has, from somebody who knows all of the text with this stamp.
  valkey::SettingsRequest question(std::string_view known) const;
  // The same with a new text, to be put in place of that one.
  valkey::SettingsRequest offer(std::string_view known, const operate::Adjustments& all) const;
  // What the board has.
  std::string known() const;

  enum class Adopted { all, more, not_understood };
  // Takes over what the store has. `more`: this gateway knows something that is to be offered to the store.
  Adopted adopt(const valkey::SettingsReply& reply);
  // The store has taken `all`, which has that stamp now; makes it count here. `done`: for the events, from `from`. False: this worker is
  // of an earlier configuration, the newer ones will take it from the store.
  bool taken(const operate::Adjustments& all, std::string_view stamp, const std::vector<std::string>& done, std::string_view from);

 private:
  void answered(const valkey::Completion& completion) noexcept override;
  void take(const valkey::SettingsReply& reply);
  void ask(valkey::SettingsRequest request) noexcept;
  std::optional<operate::RoomSettings> file(std::string_view room) const;
  std::vector<std::string> differences(const operate::Adjustments& before, const operate::Adjustments& after) const;
  enum class Published { all, more, too_old };
  Published publish(const operate::Adjustments& theirs, std::string_view stamp, const std::vector<std::string>* done,
                    std::string_view from);
  void forget_deleted(const operate::Adjustments& before, const operate::Adjustments& after) noexcept;
  void in_step() noexcept;
  void note_gateways(const valkey::SettingsReply& reply);

  Worker& worker_;
  std::string gateway_;
  std::string keys_;
  StoreClient::Ticket ticket_ = 0;
  std::string asked_;    // stamp that the question under way said was known
  std::string offered_;  // stamp of the text that it offered; empty: it did not
};

}  // namespace fairway::ngx
