// Directives of a block from the table of fields that nginx.conf and the API share.
#pragma once

#include <array>
#include <utility>

#include "nginx/block.h"
#include "operate/field.h"

namespace fairway::ngx {

// `fields`: the function that gives the table; `Conf` derives from what its fields set.
template <class Conf, auto fields, std::size_t index>
Result set_field(ngx_conf_t* cf, void* conf, Values values) noexcept {
  std::array<std::string_view, kAnyNumber> texts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    texts[i] = view(values[i]);
  }
  const auto& field = fields()[index];
  if (field.set(*static_cast<Conf*>(conf), {texts.data(), values.size()})) {
    return Result::ok;
  }
  if (field.form != operate::Form::note) {
    return Result::refused;
  }
  const ngx_str_t name = str(field.name);  // free text is not shown again: it may be long, or no text at all
  ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" must be %s", &name, field.allowed);
  return Result::reported;
}

// All fields as directives, followed by `more`.
template <class Conf, auto fields, std::size_t count, std::size_t extra>
std::array<Directive, count + extra> directives_with(const Directive (&more)[extra]) noexcept {
  std::array<Directive, count + extra> all{};
  [&all]<std::size_t... i>(std::index_sequence<i...>) {
    ((all[i] = {fields()[i].name, fields()[i].at_least, fields()[i].at_most, fields()[i].allowed, set_field<Conf, fields, i>}), ...);
  }
  (std::make_index_sequence<count>{});
  for (std::size_t i = 0; i < extra; ++i) {
    all[count + i] = more[i];
  }
  return all;
}

}  // namespace fairway::ngx
