#include "nginx/return_check.h"

#include <algorithm>
#include <iterator>

namespace fairway::ngx {

namespace {

// The rewrite module, which a build of nginx may lack; found by its name so that this module loads there too.
ngx_module_t* rewrite_module(ngx_cycle_t* cycle) noexcept {
  for (ngx_module_t** module = cycle->modules; *module != nullptr; ++module) {
    if (std::string_view((*module)->name) == "ngx_http_rewrite_module") {
      return *module;
    }
  }
  return nullptr;
}

#if (NGX_PCRE)
// A rewrite that sends everybody elsewhere. Those that some requests alone match are left to the administrator.
bool redirects_all(const ngx_array_t& codes) noexcept {
  static constexpr std::string_view kAll[] = {"^", "^/", "^.*", "^.*$", "^(.*)", "^(.*)$", "^/(.*)", "^/(.*)$", ".*", "(.*)", "(.*)$", "/"};
  const auto* code = static_cast<const ngx_http_script_regex_code_t*>(codes.elts);
  return codes.nelts >= sizeof(*code) && code->code == ngx_http_script_regex_start_code && code->redirect != 0 &&
         std::ranges::find(kAll, view(code->name)) != std::end(kAll);
}
#endif

// The directive that answers all requests of the location, or nullptr. The rewrite module's location configuration is private; it begins
// with the array of compiled codes, bytes that start with a function pointer.
const char* answers_at_once(ngx_conf_t* cf) noexcept {
  const ngx_module_t* module = rewrite_module(cf->cycle);
  if (module == nullptr) {
    return nullptr;
  }
  const auto* context = static_cast<ngx_http_conf_ctx_t*>(cf->ctx);
  auto* const* conf = static_cast<ngx_array_t**>(context->loc_conf[module->ctx_index]);
  const ngx_array_t* codes = conf == nullptr ? nullptr : *conf;
  if (codes == nullptr || codes->size != 1) {
    return nullptr;
  }
#if (NGX_PCRE)
  if (redirects_all(*codes)) {
    return "rewrite";
  }
#endif
  const auto* code = static_cast<const ngx_http_script_return_code_t*>(codes->elts);
  return codes->nelts >= sizeof(*code) && code->code == ngx_http_script_return_code ? "return" : nullptr;
}

}  // namespace

void warn_of_return(ngx_conf_t* cf, const LocConf& conf) noexcept {
  const char* directive = answers_at_once(cf);
  if (directive == nullptr) {
    return;
  }
  const auto* core = static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  const auto* server = static_cast<ngx_http_core_srv_conf_t*>(ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module));
  if (core->name.len == 0) {
    ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                  "the server in %s:%ui answers with \"%s\", which nginx does before waiting_room \"%V\" (%s:%ui) is asked",
                  server->file_name, server->line, directive, &conf.use_room.name, conf.use_room.file, conf.use_room.line);
    return;
  }
  ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                "location \"%V\" of the server in %s:%ui answers with \"%s\", which nginx does before waiting_room \"%V\" (%s:%ui) is "
                "asked; \"waiting_room off\" there says that this is meant",
                &core->name, server->file_name, server->line, directive, &conf.use_room.name, conf.use_room.file, conf.use_room.line);
}

}  // namespace fairway::ngx
