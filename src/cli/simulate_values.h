// The values of `fairway simulate`. Each parser throws UsageError with what is allowed; the caller knows the flag.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operate/adjustments.h"
#include "sim/crowd.h"

namespace fairway::cli {

// A time as in nginx.conf, above 0.
Micros parse_time(std::string_view text);
// "30%" or "0.3", 0 to 1.
double parse_share(std::string_view text);
// [SHAPE,]TIME with SHAPE fixed, uniform, exponential or heavy; `shape` when there is none.
sim::Duration parse_length(std::string_view text, sim::Shape shape);
sim::Arrivals parse_arrivals(std::string_view text);

const char* shape_name(sim::Shape shape) noexcept;
const char* arrivals_name(sim::Arrivals arrivals) noexcept;

// poll_interval is the flag --poll-interval.
std::string flag_of(std::string_view field);

// Sets one of a room's or a queue's settings from the command line, where several values may also have commas between them.
template <class Conf>
std::optional<std::string> set_field(const operate::Field<Conf>& field, std::string value, Conf& conf) {
  for (char& c : value) c = c == ',' ? ' ' : c;
  return operate::set(field, value, conf) ? std::optional(std::string("give ") + field.allowed) : std::nullopt;
}

}  // namespace fairway::cli
