#include "nginx/queue_conf.h"

#include <algorithm>
#include <bit>
#include <span>

#include "core/siphash.h"
#include "nginx/files.h"
#include "nginx/queue_block.h"
#include "nginx/queue_worker.h"
#include "nginx/values.h"

namespace fairway::ngx {

namespace {

std::span<QueueConf*> queues(const MainConf& conf) noexcept {
  return {static_cast<QueueConf**>(conf.queues.elts), conf.queues.nelts};
}

QueueConf* find_queue(const MainConf& conf, std::string_view name) noexcept {
  const auto all = queues(conf);
  const auto found = std::ranges::find_if(all, [name](const QueueConf* queue) { return view(queue->name) == name; });
  return found == all.end() ? nullptr : *found;
}

// nginx's modules that talk to an upstream and can be told to go on when the client is gone. Each configuration begins with an
// ngx_http_upstream_conf_t. Found by name: a build of nginx may lack one.
constexpr std::string_view kUpstreamModules[] = {"ngx_http_proxy_module", "ngx_http_fastcgi_module", "ngx_http_uwsgi_module",
                                                 "ngx_http_scgi_module"};

template <class F>
void each_upstream_conf(ngx_module_t** modules, void** loc_conf, F function) noexcept {
  for (ngx_module_t** module = modules; *module != nullptr; ++module) {
    if ((*module)->type == NGX_HTTP_MODULE && std::ranges::find(kUpstreamModules, (*module)->name) != std::end(kUpstreamModules)) {
      if (void* conf = loc_conf[(*module)->ctx_index]) {
        function(*static_cast<ngx_http_upstream_conf_t*>(conf));
      }
    }
  }
}

bool says_abort(ngx_module_t** modules, void** loc_conf) noexcept {
  bool said = false;
  each_upstream_conf(modules, loc_conf,
                     [&said](const ngx_http_upstream_conf_t& upstream) { said |= upstream.ignore_client_abort != NGX_CONF_UNSET; });
  return said;
}

// Most applications finish a request whose client has left, so its slot is theirs until then: under a fair queue nginx goes on
// waiting for the upstream, unless the site says otherwise. This module's configuration is merged before theirs.
void keep_upstream_after_abort(ngx_conf_t* cf, const LocConf& above, LocConf& conf) noexcept {
  ngx_module_t** modules = cf->cycle->modules;
  void** loc_conf = static_cast<ngx_http_conf_ctx_t*>(cf->ctx)->loc_conf;
  const auto& main = *static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_fairway_module));
  conf.abort_said = above.abort_said || says_abort(modules, main.http_loc_conf) || says_abort(modules, loc_conf);
  if (!conf.abort_said && (conf.queue != nullptr || above.queue != nullptr)) {
    each_upstream_conf(modules, loc_conf,
                       [&conf](ngx_http_upstream_conf_t& upstream) { upstream.ignore_client_abort = conf.queue != nullptr ? 1 : 0; });
  }
}

std::uint64_t location_hash(ngx_conf_t* cf) noexcept {
  const auto& core = *static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  const auto& server = *static_cast<ngx_http_core_srv_conf_t*>(ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module));
  const SipKey key{0, siphash({}, server.server_name.data, server.server_name.len)};
  return siphash(key, core.name.data, core.name.len);
}

char* make_zone(ngx_conf_t* cf, QueueConf& queue) noexcept {
  ngx_str_t name = joined(cf->pool, "fairway_queue_", view(queue.name), "");
  const std::size_t size = queue_zone_size(queue.capacity);
  if (name.data == nullptr) {
    return conf_error;
  }
  if (const MainConf* running = running_conf(cf)) {
    const QueueConf* before = find_queue(*running, view(queue.name));
    if (before != nullptr && !(before->capacity == queue.capacity)) {
      ngx_conf_log_error(
          NGX_LOG_EMERG, cf, 0,
          "fair_queue \"%V\": \"outer_flows\", \"inner_flows\", a concurrency above %uD or a size above %uD cannot be changed "
          "while nginx runs: restart it instead",
          &queue.name, before->capacity.concurrency, before->capacity.size);
      return conf_error;
    }
  }
  queue.zone = ngx_shared_memory_add(cf, &name, size, &ngx_http_fairway_module);
  if (queue.zone == nullptr) {
    return conf_error;
  }
  queue.zone->init = init_queue_zone;
  queue.zone->data = &queue;
  return conf_ok;
}

}  // namespace

char* define_queue(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  auto& conf = *static_cast<MainConf*>(data);
  const ngx_str_t name = static_cast<ngx_str_t*>(cf->args->elts)[1];
  if (!is_room_name(view(name))) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the name of a fair_queue must be 1 to 32 of a-z, 0-9 and \"-\", and not \"off\"; not \"%V\"",
                       &name);
    return conf_error;
  }
  if (find_queue(conf, view(name)) != nullptr) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "fair_queue \"%V\" is defined twice", &name);
    return conf_error;
  }
  auto* queue = make<QueueConf>(cf->pool);
  auto* place = static_cast<QueueConf**>(ngx_array_push(&conf.queues));
  if (queue == nullptr || place == nullptr) {
    return conf_error;
  }
  *place = queue;
  queue->name = name;
  queue->index = conf.queues.nelts - 1;
  queue->file = cf->conf_file->file.name.data;
  queue->line = cf->conf_file->line;
  if (parse_queue_block(cf, *queue) != conf_ok) {
    return conf_error;
  }
  queue->capacity.concurrency = std::max(queue->capacity.concurrency, std::bit_ceil(queue->limits.concurrency));
  queue->capacity.size = std::max(queue->capacity.size, std::bit_ceil(queue->limits.size));
  return conf_ok;
}

ngx_int_t merge_queue(ngx_conf_t* cf, const LocConf& above, LocConf& conf) noexcept {
  if (conf.use_queue.kind == Use::Kind::unset) {
    conf.use_queue = above.use_queue;
    conf.queue = above.queue;
  } else if (conf.use_queue.kind == Use::Kind::named) {
    const Use& use = conf.use_queue;
    conf.queue = find_queue(*static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_fairway_module)), view(use.name));
    if (conf.queue == nullptr) {
      ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "unknown fair_queue \"%V\" in %s:%ui: define it with \"fair_queue %V { … }\" in http {}",
                    &use.name, use.file, use.line, &use.name);
      return NGX_ERROR;
    }
    conf.queue->attached = true;
  }
  const auto& core = *static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  if (conf.queue != nullptr && core.handler != nullptr && !conf.own_endpoint) {
    conf.queue->has_upstream = true;
  }
  conf.cost_class = location_hash(cf);
  keep_upstream_after_abort(cf, above, conf);
  return NGX_OK;
}

char* make_queue_zones(ngx_conf_t* cf, MainConf& conf) noexcept {
  for (QueueConf* queue : queues(conf)) {
    if (make_zone(cf, *queue) != conf_ok) {
      return conf_error;
    }
  }
  return conf_ok;
}

void warn_of_idle_queues(ngx_conf_t* cf, const MainConf& conf) noexcept {
  for (const QueueConf* queue : queues(conf)) {
    if (!queue->attached) {
      ngx_log_error(NGX_LOG_WARN, cf->log, 0, "fair_queue \"%V\" in %s:%ui is used by no server or location", &queue->name, queue->file,
                    queue->line);
    } else if (!queue->has_upstream) {
      ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                    "fair_queue \"%V\" in %s:%ui is used by locations without an upstream only: it has nothing to share", &queue->name,
                    queue->file, queue->line);
    }
  }
}

bool streams_bodies(ngx_http_request_t* r) noexcept {
  bool streams = false;
  each_upstream_conf(ngx_cycle->modules, r->loc_conf,
                     [&streams](const ngx_http_upstream_conf_t& upstream) { streams |= upstream.request_buffering == 0; });
  return streams;
}

}  // namespace fairway::ngx
