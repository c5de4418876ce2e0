// The two module records. nginx runs the handlers of a phase, and the header filters, in an order that follows from where a module
// stands in its list (modules.c), and no one place fits all: the first record stands before mirror, so that its handlers run after
// limit_req, limit_conn and realip, and after mirror and try_files; the second stands before the range filter, so that its header filter
// runs behind nginx's own headers filter and its server rewrite handler before the rewrite module's.
#include "nginx/config.h"
#include "nginx/queue_worker.h"
#include "nginx/settings_file.h"
#include "nginx/shared.h"
#include "nginx/state_file.h"
#include "nginx/turn.h"
#include "nginx/visit.h"
#include "nginx/worker.h"

namespace fairway::ngx {
namespace {

ngx_int_t add_phase_handler(ngx_conf_t* cf, ngx_http_phases phase, ngx_http_handler_pt handler) noexcept {
  auto* core = static_cast<ngx_http_core_main_conf_t*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
  auto* slot = static_cast<ngx_http_handler_pt*>(ngx_array_push(&core->phases[phase].handlers));
  if (slot == nullptr) {
    return NGX_ERROR;
  }
  *slot = handler;
  return NGX_OK;
}

ngx_int_t preconfiguration(ngx_conf_t* cf) noexcept {
  return add_variables(cf);
}

ngx_int_t postconfiguration(ngx_conf_t* cf) noexcept {
  if (check_rooms(cf) != NGX_OK || add_phase_handler(cf, NGX_HTTP_PREACCESS_PHASE, preaccess_handler) != NGX_OK) {
    return NGX_ERROR;
  }
  return add_phase_handler(cf, NGX_HTTP_PRECONTENT_PHASE, precontent_handler);
}

ngx_int_t filter_postconfiguration(ngx_conf_t* cf) noexcept {
  next_header_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = header_filter;
  next_body_filter = ngx_http_top_body_filter;
  ngx_http_top_body_filter = body_filter;
  return add_phase_handler(cf, NGX_HTTP_SERVER_REWRITE_PHASE, server_rewrite_handler);
}

// In the master; also under -t, where nothing may be touched. On a reload a failure here would end the master.
ngx_int_t init_module(ngx_cycle_t* cycle) noexcept {
  MainConf* conf = main_conf(cycle);
  if (conf == nullptr || conf->zone == nullptr || ngx_test_config != 0) {
    return NGX_OK;
  }
  if (prepare_files(cycle, *conf) != NGX_OK && ngx_is_init_cycle(cycle->old_cycle)) {
    return NGX_ERROR;
  }
  begin_generation(*conf);
  restore_state(*conf, cycle->log);
  restore_settings(*conf, cycle->log);
  try {
    page::builtin(page::Kind::waiting, page::Language::en);  // parsed once, before the workers are forked
  } catch (...) {
    ngx_log_error(NGX_LOG_WARN, cycle->log, 0, "fairway: no memory for the pages");  // each worker tries again
  }
  return NGX_OK;
}

ngx_int_t init_process(ngx_cycle_t* cycle) noexcept {
  return Worker::start(cycle) == NGX_OK ? QueueWorker::start(cycle) : NGX_ERROR;
}

void exit_process(ngx_cycle_t*) noexcept {
  QueueWorker::stop();
  Worker::stop();
}

ngx_http_module_t context = {
    preconfiguration, postconfiguration, create_main_conf, init_main_conf, create_srv_conf, nullptr, create_loc_conf, merge_loc_conf,
};

ngx_http_module_t filter_context = {nullptr, filter_postconfiguration, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace fairway::ngx

extern "C" {

ngx_module_t ngx_http_fairway_module = {
    NGX_MODULE_V1,
    &fairway::ngx::context,
    fairway::ngx::commands,
    NGX_HTTP_MODULE,
    nullptr,
    fairway::ngx::init_module,
    fairway::ngx::init_process,
    nullptr,
    nullptr,
    fairway::ngx::exit_process,
    nullptr,
    NGX_MODULE_V1_PADDING,
};

ngx_module_t ngx_http_fairway_filter_module = {
    NGX_MODULE_V1, &fairway::ngx::filter_context, nullptr, NGX_HTTP_MODULE, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
    nullptr,       NGX_MODULE_V1_PADDING,
};

}  // extern "C"
