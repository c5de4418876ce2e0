// What can be set of a waiting room, in nginx.conf or while it runs, but for what only nginx can read (page, bypass).
#pragma once

#include <optional>

#include "core/room.h"
#include "operate/field.h"

namespace fairway::operate {

enum class Secure : std::uint8_t { automatic, on, off };

// Plain data; the texts are somebody else's.
struct RoomSettings {
  room::Settings settings;
  std::int64_t refresh = 15;              // s
  std::uint32_t entries_per_minute = 60;  // per address; 0: off
  bool entries_set = false;               // said by somebody: private and loopback addresses count too
  std::uint32_t polls_per_second = 3;     // per session
  bool fail_open = false;
  bool bind_network = false;
  std::uint32_t page_status = 429;
  std::string_view message;  // UTF-8; empty: none
  std::string_view cookie_domain;
  Secure cookie_secure = Secure::automatic;
};

// `capacity` is the first.
inline constexpr std::size_t kRoomFields = 18;
std::span<const Field<RoomSettings>> room_fields() noexcept;

// What no field can see alone.
std::optional<Problem> check_together(const RoomSettings& room);

std::string_view mode_name(room::Mode mode) noexcept;
std::optional<room::Mode> parse_mode(std::string_view name) noexcept;

}  // namespace fairway::operate
