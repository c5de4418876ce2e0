// Bytes from a client (Accept-Language) and from an operator (template, message). First byte: the language of the page.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "page/page.h"

using namespace fairway::page;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto language = static_cast<Language>(data[0] % kLanguages);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  FUZZ_CHECK(static_cast<std::size_t>(choose_language(text)) < kLanguages);

  Values values;
  values.room = values.status_url = values.leave_url = values.retry_url = values.message = text;
  values.rank = size;
  std::string out;
  Template("{{room}}{{status_url}}{{leave_url}}{{retry_url}}{{message}}{{json}}").render(values, language, out);
  FUZZ_CHECK(out.find_first_of("<>\"'") == std::string::npos);

  // A template without a place of ours comes out as it went in; otherwise all text outside of places does.
  Values empty;
  out.clear();
  Template(text).render(empty, language, out);
  if (text.find("{{") == std::string_view::npos) FUZZ_CHECK(out == text);

  // The message changes no page but in its place: the same tags are there.
  std::string with, without;
  builtin(Kind::waiting, language).render(values, language, with);
  builtin(Kind::waiting, language).render(empty, language, without);
  FUZZ_CHECK(std::count(with.begin(), with.end(), '<') == std::count(without.begin(), without.end(), '<'));
  return 0;
}
