#include "nginx/block.h"

#include <array>

namespace fairway::ngx {

namespace {

struct Block {
  const BlockKind& kind;
  void* conf;
  SeenDirectives& seen;
};

char* refuse_unknown(ngx_conf_t* cf, const BlockKind& kind, ngx_str_t& name) noexcept {
  std::array<char, 512> list{};
  std::size_t length = 0;
  for (const Directive& directive : kind.directives) {
    if (length + directive.name.size() + 2 < list.size()) {
      length += directive.name.copy(list.data() + length, directive.name.size());
      list[length++] = ' ';
    }
  }
  ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "unknown directive \"%V\" in %s \"%V\", allowed are: %*s", &name, kind.directive, &kind.name,
                     length == 0 ? length : length - 1, list.data());
  return conf_error;
}

// As they stand in the file; the first one alone when memory is short.
ngx_str_t all_of(ngx_pool_t* pool, Values values) noexcept {
  ngx_str_t all = values[0];
  for (const ngx_str_t& value : values.subspan(1)) {
    const ngx_str_t with_blank = concat(pool, view(all), " ");
    const ngx_str_t longer = with_blank.data == nullptr ? with_blank : concat(pool, view(with_blank), view(value));
    if (longer.data == nullptr) {
      return values[0];
    }
    all = longer;
  }
  return all;
}

// One directive of the block; nginx has put name and values into cf->args.
char* on_directive(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  auto& block = *static_cast<Block*>(data);
  const BlockKind& kind = block.kind;
  Values values(static_cast<ngx_str_t*>(cf->args->elts), cf->args->nelts);
  ngx_str_t& name = values[0];
  values = values.subspan(1);
  if (view(name) == "include" && values.size() == 1) {
    return ngx_conf_include(cf, nullptr, nullptr);
  }
  std::size_t index = 0;
  while (index < kind.directives.size() && kind.directives[index].name != view(name)) {
    ++index;
  }
  if (index == kind.directives.size()) {
    return refuse_unknown(cf, kind, name);
  }
  if (block.seen.test(index)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" is given twice in %s \"%V\"", &name, kind.directive, &kind.name);
    return conf_error;
  }
  block.seen.set(index);
  const Directive& directive = kind.directives[index];
  if (values.size() < directive.at_least || values.size() > directive.at_most) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" has %uz values, it must be %s", &name, values.size(), directive.allowed);
    return conf_error;
  }
  const Result result = directive.set(cf, block.conf, values);
  if (result == Result::refused) {
    const ngx_str_t given = all_of(cf->pool, values);
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" must be %s, not \"%V\"", &name, directive.allowed, &given);
  }
  return result == Result::ok ? conf_ok : conf_error;
}

}  // namespace

char* parse_block(ngx_conf_t* cf, const BlockKind& kind, void* conf, SeenDirectives& seen) noexcept {
  Block block{kind, conf, seen};
  const ngx_conf_t saved = *cf;
  cf->handler = on_directive;
  cf->handler_conf = static_cast<char*>(static_cast<void*>(&block));
  char* result = ngx_conf_parse(cf, nullptr);
  *cf = saved;
  return result;
}

Result parse_bypass(ngx_conf_t* cf, ngx_array_t*& bypass, Values values) noexcept {
  for (const ngx_str_t& value : values) {
    if (view(value).find('$') == std::string_view::npos) {
      ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "\"bypass %V\" holds no variable: it is the same for everybody", &value);
    }
  }
  bypass = static_cast<ngx_array_t*>(NGX_CONF_UNSET_PTR);
  ngx_command_t command{};  // nginx's own parser of such lists; it reads the values from cf->args
  return ngx_http_set_predicate_slot(cf, &command, &bypass) == conf_ok ? Result::ok : Result::reported;
}

bool any_true(ngx_http_request_t* r, const ngx_array_t* values) noexcept {
  if (values == nullptr) {
    return false;
  }
  for (ngx_http_complex_value_t& value : std::span(static_cast<ngx_http_complex_value_t*>(values->elts), values->nelts)) {
    ngx_str_t text;
    if (ngx_http_complex_value(r, &value, &text) == NGX_OK && text.len != 0 && !(text.len == 1 && text.data[0] == '0')) {
      return true;
    }
  }
  return false;
}

}  // namespace fairway::ngx
