#include "page/text.h"

#include <algorithm>

#include "page/generated.h"

namespace fairway::page {
namespace {

const generated::Sayings& sayings(Language language) {
  return generated::sayings[static_cast<std::size_t>(language)];
}

// Puts `value` in place of `place` where the pattern has it.
std::string filled(std::string_view pattern, std::string_view place, std::uint64_t value) {
  std::string text(pattern);
  if (const auto at = text.find(place); at != std::string::npos) text.replace(at, place.size(), std::to_string(value));
  return text;
}

std::uint32_t even(std::uint32_t minutes) {
  return minutes < 20 ? minutes : (minutes + 2) / 5 * 5;
}

void append_json_string(std::string_view text, std::string& out) {
  static constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

std::string_view tag(Language language) noexcept {
  return sayings(language).tag;
}

void append_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\0':
        out += "\xef\xbf\xbd";  // U+FFFD, as a browser would read it
        break;
      default:
        out += c;
    }
  }
}

void append_grouped(std::uint64_t number, Language language, std::string& out) {
  const auto& words = sayings(language);
  const std::string digits = std::to_string(number);
  if (digits.size() < words.mark_from) {
    out += digits;
    return;
  }
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += words.mark;
    out += digits[i];
  }
}

void append_estimate(std::optional<std::uint32_t> seconds, Language language, std::string& out) {
  const auto& words = sayings(language);
  if (!seconds) {
    out += words.eta_unknown;
  } else if (*seconds < 60) {
    out += words.eta_under;
  } else if (*seconds >= 86400) {
    out += words.eta_day;
  } else if (*seconds >= 7200) {
    out += filled(words.eta_hours, "{hours}", *seconds / 3600);
  } else if (*seconds >= 3600) {
    out += words.eta_hour;
  } else {
    const std::uint32_t low = even(std::max(1u, *seconds / 80));
    const std::uint32_t high = even((*seconds + 47) / 48);
    out += filled(filled(words.eta_range, "{low}", low), "{high}", high);
  }
}

void append_json(const Values& values, std::string_view state, std::string_view ticket, std::string& out) {
  const auto number_or_null = [&out](bool told, std::uint64_t number) { out += told ? std::to_string(number) : "null"; };
  out += "{\"room\":";
  append_json_string(values.room, out);
  out += ",\"state\":";
  append_json_string(state, out);
  if (state == "waiting") {
    out += ",\"rank\":";
    number_or_null(values.rank != 0, values.rank);
    out += ",\"waiting\":" + std::to_string(values.waiting) + ",\"eta\":";
    number_or_null(values.eta.has_value(), values.eta.value_or(0));
  }
  out += ",\"retry_after\":" + std::to_string(values.retry_after);
  out += values.paused ? ",\"paused\":true" : ",\"paused\":false";
  out += values.stale ? ",\"stale\":true" : ",\"stale\":false";
  out += ",\"message\":";
  if (values.message.empty()) {
    out += "null";
  } else {
    append_json_string(values.message, out);
  }
  if (!ticket.empty()) {
    out += ",\"ticket\":";
    append_json_string(ticket, out);
  }
  out += '}';
}

}  // namespace fairway::page
