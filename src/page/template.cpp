#include <array>
#include <utility>
#include <vector>

#include "page/generated.h"
#include "page/page.h"
#include "page/text.h"

namespace fairway::page {
namespace {

enum class Place : std::uint8_t {
  none,
  room,
  status_url,
  leave_url,
  retry_url,
  rank,
  waiting,
  eta,
  message,
  retry_after,
  lang,
  json,
  flags
};

constexpr std::array<std::pair<std::string_view, Place>, 12> kPlaces{{
    {"room", Place::room},
    {"status_url", Place::status_url},
    {"leave_url", Place::leave_url},
    {"retry_url", Place::retry_url},
    {"rank", Place::rank},
    {"waiting", Place::waiting},
    {"eta", Place::eta},
    {"message", Place::message},
    {"retry_after", Place::retry_after},
    {"lang", Place::lang},
    {"json", Place::json},
    {"flags", Place::flags},
}};
constexpr std::size_t kLongestName = 11;

constexpr std::string_view kNoRank = "\xe2\x80\x94";  // em dash
constexpr std::uint64_t kLongRank = 100000;           // from here on the number needs smaller digits

// A piece of fixed text and the place that follows it.
struct Segment {
  std::string_view text;
  Place place = Place::none;
};

using Segments = std::vector<Segment>;

void append_flags(const Values& values, std::string& out) {
  const std::size_t start = out.size();
  const auto add = [&](bool set, std::string_view name) {
    if (!set) return;
    if (out.size() != start) out += ' ';
    out += name;
  };
  add(values.paused, "paused");
  add(values.stale, "stale");
  add(values.rank == 0, "unranked");
  add(values.rank >= kLongRank, "long");
  add(values.message.empty(), "silent");
}

void append_value(Place place, const Values& values, Language language, std::string& out) {
  std::string text;
  switch (place) {
    case Place::none:
      return;
    case Place::room:
      return append_escaped(values.room, out);
    case Place::status_url:
      return append_escaped(values.status_url, out);
    case Place::leave_url:
      return append_escaped(values.leave_url, out);
    case Place::retry_url:
      return append_escaped(values.retry_url, out);
    case Place::message:
      return append_escaped(values.message, out);
    case Place::rank:
      if (values.rank == 0) {
        out += kNoRank;
      } else {
        append_grouped(values.rank, language, out);
      }
      return;
    case Place::waiting:
      return append_grouped(values.waiting, language, out);
    case Place::eta:
      append_estimate(values.eta, language, text);
      return append_escaped(text, out);
    case Place::retry_after:
      out += std::to_string(values.retry_after);
      return;
    case Place::lang:
      out += tag(language);
      return;
    case Place::json:
      append_json(values, "waiting", {}, text);
      return append_escaped(text, out);
    case Place::flags:
      return append_flags(values, out);
  }
}

// Text that is put in when the template is parsed, instead of at each answer.
struct Fixed {
  std::string_view name, text;
};
using Fixes = std::array<Fixed, 2>;

// The name of the place that begins at `at` ("{{"), or empty when there is none of ours.
std::string_view name_at(std::string_view html, std::size_t at) {
  const std::string_view rest = html.substr(at + 2, kLongestName + 2);
  const auto end = rest.find("}}");
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

Place place_named(std::string_view name) {
  for (const auto& [known, place] : kPlaces)
    if (known == name) return place;
  return Place::none;
}

Segments parse(std::string_view html, const Fixes& fixes) {
  Segments segments;
  std::size_t begin = 0;  // of the text not yet in a segment
  for (std::size_t at = html.find("{{"); at != std::string_view::npos; at = html.find("{{", at)) {
    const std::string_view name = name_at(html, at);
    const Place place = place_named(name);
    std::string_view fixed;
    for (const Fixed& fix : fixes)
      if (!name.empty() && fix.name == name) fixed = fix.text;
    if (place == Place::none && fixed.empty()) {
      ++at;
      continue;
    }
    segments.push_back({html.substr(begin, at - begin), place});
    if (!fixed.empty()) segments.push_back({fixed, Place::none});
    at = begin = at + name.size() + 4;
  }
  segments.push_back({html.substr(begin), Place::none});
  return segments;
}

}  // namespace

struct Template::Impl {
  Segments segments;
};

Template::Template(std::string_view html) : impl_(std::make_shared<const Impl>(Impl{parse(html, {})})) {}

Template::Template(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

void Template::render(const Values& values, Language language, std::string& out) const {
  for (const Segment& segment : impl_->segments) {
    out += segment.text;
    append_value(segment.place, values, language, out);
  }
}

const Template& builtin(Kind kind, Language language) {
  static const std::vector<Template> all = [] {
    const Fixes shared{{{"style", generated::style}, {"script", generated::script}}};
    std::vector<Template> templates;
    templates.reserve(kKinds * kLanguages);
    for (const auto& row : generated::templates)
      for (const std::string_view html : row)
        templates.push_back(Template(std::make_shared<const Template::Impl>(Template::Impl{parse(html, shared)})));
    return templates;
  }();
  return all[static_cast<std::size_t>(kind) * kLanguages + static_cast<std::size_t>(language)];
}

std::string_view builtin_policy() noexcept {
  return generated::policy;
}

std::string_view custom_policy() noexcept {
  return "default-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; object-src 'none'; form-action 'self'; "
         "base-uri 'none'; frame-ancestors 'self'";
}

}  // namespace fairway::page
