// What can be set of a fair queue, in nginx.conf or while it runs, but for what only nginx can read (bypass) and what its tables are
// made from (outer_flows, inner_flows, names of cookies and headers).
#pragma once

#include <optional>

#include "core/queue_types.h"
#include "operate/field.h"

namespace fairway::operate {

// Plain data; the texts are somebody else's.
struct QueueSettings {
  queue::Limits limits;
  bool lane_set = false;   // light_lane was said; else it follows from concurrency
  unsigned outer_v4 = 24;  // bits
  unsigned outer_v6 = 56;
  bool inner_address = true;
  std::string_view cost_header = "Fairway-Cost";  // empty: off
  std::string_view cpu_header = "Fairway-Cpu";    // empty: off
};

// `concurrency` is the first.
inline constexpr std::size_t kQueueFields = 13;
std::span<const Field<QueueSettings>> queue_fields() noexcept;

// What no field can see alone. Sets light_lane when nobody said it.
std::optional<Problem> check_together(QueueSettings& queue);
// Whether the tables of a running queue are large enough.
std::optional<Problem> check_capacity(const QueueSettings& queue, const queue::Capacity& capacity);

}  // namespace fairway::operate
