// The visitor's pages as text: which language, which template, what is filled in. Pure; no nginx. The built-in templates are
// made from web/waiting at build time, one per page and language; a site's own template is any HTML with the same places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fairway::page {

enum class Kind : std::uint8_t {
  waiting,      // in line
  busy,         // line full, or too many requests: retries by itself
  closed,       // the room is closed
  unavailable,  // the store is down: retries by itself
  left,         // after leaving
  cookies,      // cookies are needed
  unprocessed,  // answer to a POST of somebody who is not inside: nothing was processed, no automatic reload
};
inline constexpr std::size_t kKinds = 7;

enum class Language : std::uint8_t { en, de, fr, es, ja, ko, zh };
inline constexpr std::size_t kLanguages = 7;

// The best of the languages above for an Accept-Language header (RFC 9110, q values, prefix match); English when none fits.
// Looks at no more than the first 1,000 bytes.
Language choose_language(std::string_view accept_language) noexcept;
std::string_view tag(Language language) noexcept;  // "en", "de", …

struct Values {
  std::string_view room;        // name of the room
  std::string_view status_url;  // path
  std::string_view leave_url;   // path
  std::string_view retry_url;   // path that the cookies page leads to (the page asked for); empty: its own address again
  std::string_view message;     // the operator's words, raw; escaped here
  std::uint64_t rank = 0;       // 0: not told
  std::uint64_t waiting = 0;
  std::optional<std::uint32_t> eta;  // seconds
  std::uint32_t retry_after = 1;     // seconds
  bool paused = false;
  bool stale = false;
};

// The one JSON shape of every answer. `state` is "waiting", "admitted", "busy", "closed", "unavailable" or "unknown"; rank, waiting
// and eta are written for "waiting" only, `ticket` when it is not empty. `message` must be UTF-8. Appends to `out`.
void append_json(const Values& values, std::string_view state, std::string_view ticket, std::string& out);

// An HTML file with places {{room}} {{status_url}} {{leave_url}} {{rank}} {{waiting}} {{eta}} {{message}} {{retry_after}} {{lang}}
// and, for a page that wants more, {{retry_url}}, {{json}} (the answer to a waiter as append_json writes it, for an attribute) and
// {{flags}} (class names: paused, stale, unranked, long, silent). Any other {{…}} stays as it is. Values are HTML-escaped; numbers
// are grouped and the estimate is put in words for the language; a rank that is not told is an em dash.
class Template {
 public:
  explicit Template(std::string_view html);  // keeps views into `html`: it must outlive the template
  // Appends to `out`.
  void render(const Values& values, Language language, std::string& out) const;

 private:
  friend const Template& builtin(Kind kind, Language language);
  struct Impl;
  explicit Template(std::shared_ptr<const Impl> impl) noexcept;
  std::shared_ptr<const Impl> impl_;
};

// Parses all of them at the first call: make one before the workers are forked.
const Template& builtin(Kind kind, Language language);
// Value of the Content-Security-Policy header that fits the built-in pages (hashes of their script and style).
std::string_view builtin_policy() noexcept;
// The one for a site's own template: own origin and inline only.
std::string_view custom_policy() noexcept;

}  // namespace fairway::page
