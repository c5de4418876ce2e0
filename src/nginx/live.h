// The rooms and queues as they are now in one worker: what nginx.conf says with the operators' adjustments over it. Changes are noticed
// by one load at the start of whatever asks, so that a change counts in every worker at once.
//
// The file's RoomConf and QueueConf are changed in place (each worker has its own copy of the configuration), so whoever holds one sees
// the new values. A room that the console made lives as long as the worker, since requests may refer to it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nginx/config.h"
#include "nginx/shared.h"
#include "operate/adjustments.h"
#include "operate/attach.h"

namespace fairway::ngx {

class Live {
 public:
  // May throw std::bad_alloc.
  Live(MainConf& conf, ngx_cycle_t* cycle);

  // Takes over what has changed since.
  void follow() noexcept;

  // The file's rooms, then the console's.
  std::span<RoomConf* const> rooms() const noexcept { return rooms_; }
  RoomConf* find(std::string_view name) const noexcept;
  std::span<QueueConf* const> queues() const noexcept;
  QueueConf* find_queue(std::string_view name) const noexcept;
  // The room that the console attached to this place; nullptr: none.
  RoomConf* attached(std::string_view host, std::string_view uri) const noexcept;
  bool has(std::string_view host, const RoomConf& room) const noexcept { return attach_.has(host, room.index); }

  // What nginx.conf says; the defaults for a room that the console made.
  operate::RoomSettings file(const RoomConf& room) const noexcept;
  operate::QueueSettings file(const QueueConf& queue) const noexcept { return queues_of_file_[queue.index]; }
  bool is_made(const RoomConf& room) const noexcept { return room.index >= rooms_of_file_.size(); }

  const operate::Adjustments& adjustments() const noexcept { return adjustments_; }
  const operate::RoomAdjustment& adjustment(const RoomConf& room) const noexcept;
  const operate::Overrides& adjustment(const QueueConf& queue) const noexcept;
  std::uint64_t version() const noexcept { return version_; }
  // Changed values that count here.
  const operate::Overrides& overrides(const RoomConf& room) const noexcept;
  // Rooms some of whose changes cannot count here, though they do at the gateway that made them, and why.
  const std::map<std::string, std::string, std::less<>>& refused() const noexcept { return refused_; }

 private:
  Board& board() const noexcept;
  void take_over();
  void adjust_rooms();
  void adjust(RoomConf& room);
  void adjust_queues(std::uint64_t version);
  RoomConf& made(const std::string& name);
  std::vector<std::string_view> names_in_use(std::string_view name) const;

  MainConf& conf_;
  ngx_cycle_t* cycle_;
  std::uint64_t version_ = 0;
  operate::Adjustments adjustments_;
  operate::Adjustments previous_;
  const operate::RoomAdjustment unadjusted_room_;
  const operate::Overrides no_overrides_;  // of any room or queue
  std::vector<operate::RoomSettings> rooms_of_file_;
  std::vector<operate::QueueSettings> queues_of_file_;
  std::map<std::string, RoomConf*, std::less<>> made_;  // all that ever were; in the cycle's pool
  std::vector<RoomConf*> by_index_;
  std::vector<RoomConf*> rooms_;
  operate::AttachTable attach_;
  std::map<std::string, operate::Overrides, std::less<>> fitting_;  // of rooms in `refused_`: what of their changes can count here
  std::map<std::string, operate::Overrides, std::less<>> previous_fitting_;
  std::map<std::string, std::string, std::less<>> refused_;
};

}  // namespace fairway::ngx
