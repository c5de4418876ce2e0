// The inside of a block such as `waiting_room NAME { … }`: a table of directives with what each allows, read by nginx's parser.
#pragma once

#include <bitset>
#include <span>
#include <string_view>

#include "nginx/ngx.h"

namespace fairway::ngx {

enum class Result : std::uint8_t {
  ok,
  refused,   // the value is not what the directive allows: the caller says so
  reported,  // refused, and a message was logged already
};

using Values = std::span<ngx_str_t>;  // a directive's values, without its name

struct Directive {
  std::string_view name;
  std::size_t at_least;  // values
  std::size_t at_most;
  const char* allowed;  // completes `NAME must be …`
  Result (*set)(ngx_conf_t* cf, void* conf, Values values) noexcept;
};

inline constexpr std::size_t kAnyNumber = 64;

// A setter for the table from a function that takes the block's own configuration struct.
template <class>
struct ConfOf;
template <class Conf>
struct ConfOf<Result (*)(ngx_conf_t*, Conf&, Values) noexcept> {
  using Type = Conf;
};
template <auto function>
Result setter(ngx_conf_t* cf, void* conf, Values values) noexcept {
  return function(cf, *static_cast<typename ConfOf<decltype(function)>::Type*>(conf), values);
}

using SeenDirectives = std::bitset<64>;  // by position in the table

struct BlockKind {
  const char* directive;  // "waiting_room"
  ngx_str_t& name;
  std::span<const Directive> directives;
};

// Reads the block into `conf`. Logs what is wrong with file and line and answers conf_error.
char* parse_block(ngx_conf_t* cf, const BlockKind& kind, void* conf, SeenDirectives& seen) noexcept;

// `bypass VALUE…` of either block.
Result parse_bypass(ngx_conf_t* cf, ngx_array_t*& bypass, Values values) noexcept;

// True when one of the values is there, neither empty nor "0".
bool any_true(ngx_http_request_t* r, const ngx_array_t* values) noexcept;

}  // namespace fairway::ngx
