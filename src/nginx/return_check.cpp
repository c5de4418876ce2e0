#include "nginx/return_check.h"

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

// Its location configuration is private; it begins with the array of compiled codes, bytes that start with a function pointer.
bool returns_at_once(ngx_conf_t* cf) noexcept {
  const ngx_module_t* module = rewrite_module(cf->cycle);
  if (module == nullptr) {
    return false;
  }
  const auto* context = static_cast<ngx_http_conf_ctx_t*>(cf->ctx);
  auto* const* conf = static_cast<ngx_array_t**>(context->loc_conf[module->ctx_index]);
  const ngx_array_t* codes = conf == nullptr ? nullptr : *conf;
  if (codes == nullptr || codes->size != 1 || codes->nelts < sizeof(ngx_http_script_return_code_t)) {
    return false;
  }
  return static_cast<const ngx_http_script_return_code_t*>(codes->elts)->code == ngx_http_script_return_code;
}

}  // namespace

void warn_of_return(ngx_conf_t* cf, const LocConf& conf) noexcept {
  if (!returns_at_once(cf)) {
    return;
  }
  const auto* core = static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  const auto* server = static_cast<ngx_http_core_srv_conf_t*>(ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module));
  if (core->name.len == 0) {
    ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                  "the server in %s:%ui answers with \"return\", which nginx does before waiting_room \"%V\" (%s:%ui) is asked",
                  server->file_name, server->line, &conf.use_room.name, conf.use_room.file, conf.use_room.line);
    return;
  }
  ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                "location \"%V\" of the server in %s:%ui answers with \"return\", which nginx does before waiting_room \"%V\" (%s:%ui) is "
                "asked; \"waiting_room off\" there says that this is meant",
                &core->name, server->file_name, server->line, &conf.use_room.name, conf.use_room.file, conf.use_room.line);
}

}  // namespace fairway::ngx
