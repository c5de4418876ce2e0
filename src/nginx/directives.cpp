// The directives outside of blocks, and what happens between reading and running: defaults, merging, the zone, warnings.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "nginx/api.h"
#include "nginx/config.h"
#include "nginx/files.h"
#include "nginx/metrics.h"
#include "nginx/queue_conf.h"
#include "nginx/return_check.h"
#include "nginx/room_block.h"
#include "nginx/shared.h"
#include "nginx/store_conf.h"
#include "nginx/values.h"

namespace fairway::ngx {

namespace {

constexpr std::size_t kDefaultMemory = 32 << 20;
constexpr std::size_t kMaxStoreWords = 64;
constexpr std::size_t kLeastMemory = 256 << 10;  // MemoryStore::create

char* conf_says(const char* text) noexcept {
  return const_cast<char*>(text);
}

ngx_str_t& argument(ngx_conf_t* cf, std::size_t index) noexcept {
  return static_cast<ngx_str_t*>(cf->args->elts)[index];
}

std::span<RoomConf*> rooms(MainConf& conf) noexcept {
  return {static_cast<RoomConf**>(conf.rooms.elts), conf.rooms.nelts};
}

RoomConf* find_room(MainConf& conf, std::string_view name) noexcept {
  const auto all = rooms(conf);
  const auto found = std::ranges::find_if(all, [name](const RoomConf* room) { return view(room->name) == name; });
  return found == all.end() ? nullptr : *found;
}

// fairway_state, fairway_keys
char* set_path(ngx_conf_t* cf, ngx_str_t& path, bool beside_configuration) noexcept {
  if (path.data != nullptr) {
    return conf_says("is duplicate");
  }
  path = argument(cf, 1);
  if (path.len == 0) {
    return conf_says("must be a path");
  }
  return ngx_conf_full_name(cf->cycle, &path, beside_configuration ? 1 : 0) == NGX_OK ? conf_ok : conf_error;
}

char* set_state(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  return set_path(cf, static_cast<MainConf*>(conf)->state, false);
}

char* set_keys(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  return set_path(cf, static_cast<MainConf*>(conf)->keys_file, true);
}

char* set_shared_store(ngx_conf_t* cf, MainConf& conf) noexcept {
  std::array<std::string_view, kMaxStoreWords> words;
  const std::size_t count = cf->args->nelts - 1;
  if (count > words.size()) {
    return conf_says("has too many words");
  }
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = view(argument(cf, i + 1));
  }
  conf.store = parse_store(cf, std::span(words).first(count));
  return conf.store == nullptr ? conf_error : conf_ok;
}

char* set_store(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  auto& conf = *static_cast<MainConf*>(data);
  if (conf.memory != 0 || conf.store != nullptr) {
    return conf_says("is duplicate");
  }
  const std::string_view first = view(argument(cf, 1));
  if (first.starts_with("unix:") || first.find("://") != std::string_view::npos) {
    return set_shared_store(cf, conf);
  }
  if (first != "memory" || cf->args->nelts != 3) {
    return conf_says("must be \"memory SIZE\", such as \"memory 32m\", or the URL of a shared store, such as \"valkey://localhost\"");
  }
  const auto size = parse_bytes(view(argument(cf, 2)));
  if (!size || *size < kLeastMemory || *size > (std::size_t{1} << 40)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the size of \"fairway_store memory\" must be from 256k to 1024g, such as 32m, not \"%V\"",
                       &argument(cf, 2));
    return conf_error;
  }
  conf.memory = *size;
  return conf_ok;
}

// waiting_room NAME { … }
char* define_room(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  auto& conf = *static_cast<MainConf*>(data);
  const ngx_str_t name = argument(cf, 1);
  if (!is_room_name(view(name))) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "the name of a waiting_room must be 1 to 32 of a-z, 0-9 and \"-\", and neither \"auto\" nor \"off\"; not \"%V\"",
                       &name);
    return conf_error;
  }
  if (find_room(conf, view(name)) != nullptr) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "waiting_room \"%V\" is defined twice", &name);
    return conf_error;
  }
  if (conf.rooms.nelts == Shared::kRooms) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "waiting_room \"%V\" is one too many, the most is %uz", &name, Shared::kRooms);
    return conf_error;
  }
  auto* room = make<RoomConf>(cf->pool);
  auto* place = static_cast<RoomConf**>(ngx_array_push(&conf.rooms));
  if (room == nullptr || place == nullptr) {
    return conf_error;
  }
  *place = room;
  room->name = name;
  room->index = conf.rooms.nelts - 1;
  room->file = cf->conf_file->file.name.data;
  room->line = cf->conf_file->line;
  return parse_room_block(cf, *room);
}

// The word after waiting_room or fair_queue in a location.
char* set_use(ngx_conf_t* cf, Use& use, bool has_auto, const char* allowed) noexcept {
  if (use.kind != Use::Kind::unset) {
    return conf_says("is duplicate");
  }
  const ngx_str_t& word = argument(cf, 1);
  use.kind = view(word) == "off" ? Use::Kind::off : has_auto && view(word) == "auto" ? Use::Kind::automatic : Use::Kind::named;
  if (use.kind == Use::Kind::named && !is_room_name(view(word))) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s, not \"%V\"", allowed, &word);
    return conf_error;
  }
  use.name = word;
  use.file = cf->conf_file->file.name.data;
  use.line = cf->conf_file->line;
  return conf_ok;
}

// waiting_room NAME | auto | off
char* use_room(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  Use& use = static_cast<LocConf*>(data)->use_room;
  char* result = set_use(cf, use, true, "\"waiting_room\" must be the name of a room, auto or off");
  if (use.kind == Use::Kind::automatic) {
    static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_fairway_module))->needs_zone = true;
  }
  return result;
}

// fair_queue NAME | off
char* use_queue(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  return set_use(cf, static_cast<LocConf*>(data)->use_queue, false, "\"fair_queue\" must be the name of a queue or off");
}

MainConf& main_of(ngx_conf_t* cf) noexcept {
  return *static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_fairway_module));
}

ngx_http_core_loc_conf_t& core_of(ngx_conf_t* cf) noexcept {
  return *static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
}

char* set_endpoint(ngx_conf_t* cf, LocConf& conf, ngx_http_handler_pt handler) noexcept {
  if (conf.own_endpoint) {
    return conf_says(conf.endpoint == handler ? "is duplicate" : "needs a location of its own");
  }
  conf.own_endpoint = true;
  conf.endpoint = handler;
  core_of(cf).handler = handler;
  return conf_ok;
}

char* set_metrics(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  return set_endpoint(cf, *static_cast<LocConf*>(data), metrics_handler);
}

char* set_api(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  auto& conf = *static_cast<LocConf*>(data);
  if (!view(core_of(cf).name).ends_with("/") || core_of(cf).exact_match || core_of(cf).regex != nullptr) {
    return conf_says("needs a location whose path ends with a slash, such as /fairway/");
  }
  conf.endpoint_prefix = core_of(cf).name;
  main_of(cf).needs_zone = true;
  return set_endpoint(cf, conf, api_handler);
}

// The shared zone. Its size is part of its identity: nginx would give a reloaded configuration a new, empty one of another size while
// the old workers go on with theirs, which lets the capacity in twice.
char* make_zone(ngx_conf_t* cf, MainConf& conf) noexcept {
  ngx_str_t name = str("fairway");
  const std::size_t size = conf.memory + shared_overhead(conf.memory);
  const MainConf* running = running_conf(cf);
  if (running != nullptr && running->zone != nullptr && (running->store == nullptr) != (conf.store == nullptr)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"fairway_store\" cannot change between memory and a shared store while nginx runs: restart it instead");
    return conf_error;
  }
  if (running != nullptr && running->zone != nullptr && running->zone->shm.size != size) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "the size of \"fairway_store memory\" cannot change while nginx runs (from %uz to %uz bytes): restart it instead",
                       running->memory, conf.memory);
    return conf_error;
  }
  conf.zone = ngx_shared_memory_add(cf, &name, size, &ngx_http_fairway_module);
  if (conf.zone == nullptr) {
    return conf_error;
  }
  conf.zone->init = init_zone;
  conf.zone->data = reinterpret_cast<void*>(conf.memory);
  return conf_ok;
}

void warn_of_small_memory(ngx_conf_t* cf, MainConf& conf) noexcept {
  std::uint64_t sessions = 0;
  for (const RoomConf* room : rooms(conf)) {
    sessions += std::uint64_t{room->settings.capacity} + room->settings.max_waiting;
  }
  const std::size_t needed = MemoryStore::bytes_for(sessions);
  if (needed > conf.memory) {
    ngx_conf_log_error(
        NGX_LOG_WARN, cf, 0,
        "\"fairway_store memory\" of %uzk is too small for capacity + max_waiting of all rooms (%uL sessions): these need %uzm",
        conf.memory >> 10, sessions, (needed + (1 << 20) - 1) >> 20);
  }
}

// Notes that the server whose locations are being merged uses `room`.
ngx_int_t attach(ngx_conf_t* cf, RoomConf* room) noexcept {
  auto* server = static_cast<SrvConf*>(ngx_http_conf_get_module_srv_conf(cf, ngx_http_fairway_module));
  const std::span<RoomConf*> known(static_cast<RoomConf**>(server->rooms.elts), server->rooms.nelts);
  room->attached = true;
  if (std::ranges::find(known, room) != known.end()) {
    return NGX_OK;
  }
  auto* place = static_cast<RoomConf**>(ngx_array_push(&server->rooms));
  if (place == nullptr) {
    return NGX_ERROR;
  }
  *place = room;
  return NGX_OK;
}

// From the name to the room, which may stand anywhere in the file.
ngx_int_t resolve(ngx_conf_t* cf, LocConf& conf) noexcept {
  MainConf& main = main_of(cf);
  Use& use = conf.use_room;
  if (use.kind == Use::Kind::automatic) {
    main.any_auto = true;
    static_cast<SrvConf*>(ngx_http_conf_get_module_srv_conf(cf, ngx_http_fairway_module))->any_auto = true;
  }
  if (use.kind != Use::Kind::named) {
    return NGX_OK;
  }
  conf.room = find_room(main, view(use.name));
  if (conf.room == nullptr) {
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "unknown waiting_room \"%V\" in %s:%ui: define it with \"waiting_room %V { … }\" in http {}",
                  &use.name, use.file, use.line, &use.name);
    return NGX_ERROR;
  }
  main.any_location = true;
  return attach(cf, conf.room);
}

}  // namespace

ngx_command_t commands[] = {
    {ngx_string("fairway_state"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_state, NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("fairway_keys"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_keys, NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("fairway_store"), NGX_HTTP_MAIN_CONF | NGX_CONF_1MORE, set_store, NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    // One name, two meanings: nginx takes the first whose level fits.
    {ngx_string("waiting_room"), NGX_HTTP_MAIN_CONF | NGX_CONF_BLOCK | NGX_CONF_TAKE1, define_room, NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("waiting_room"), NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_HTTP_LIF_CONF | NGX_CONF_TAKE1, use_room,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("fair_queue"), NGX_HTTP_MAIN_CONF | NGX_CONF_BLOCK | NGX_CONF_TAKE1, define_queue, NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("fair_queue"), NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_HTTP_LIF_CONF | NGX_CONF_TAKE1, use_queue,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("fairway_dry_run"), NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_HTTP_LIF_CONF | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocConf, dry_run), nullptr},
    {ngx_string("fairway_api"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_api, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("fairway_metrics"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_metrics, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    ngx_null_command,
};

void* create_main_conf(ngx_conf_t* cf) noexcept {
  auto* conf = make<MainConf>(cf->pool);
  const bool made = conf != nullptr && ngx_array_init(&conf->rooms, cf->pool, 4, sizeof(RoomConf*)) == NGX_OK &&
                    ngx_array_init(&conf->queues, cf->pool, 4, sizeof(QueueConf*)) == NGX_OK;
  return made ? conf : nullptr;
}

char* init_main_conf(ngx_conf_t* cf, void* data) noexcept {
  auto& conf = *static_cast<MainConf*>(data);
  conf.http_loc_conf = static_cast<ngx_http_conf_ctx_t*>(cf->ctx)->loc_conf;
  if (conf.memory == 0 && conf.store == nullptr) {
    conf.memory = kDefaultMemory;
  }
  if (conf.state.data == nullptr) {
    conf.state = str("/var/lib/fairway");
  }
  if (conf.keys_file.data == nullptr) {
    conf.keys_file = joined(cf->pool, view(conf.state), "/keys", std::string_view("\0", 1));  // NUL-terminated, as nginx's paths are
    if (conf.keys_file.data == nullptr) {
      return conf_error;
    }
    conf.keys_file.len -= 1;
  }
  if (make_queue_zones(cf, conf) != conf_ok) {
    return conf_error;
  }
  if (conf.rooms.nelts == 0 && !conf.needs_zone) {
    return conf_ok;
  }
  if (conf.store == nullptr) {
    warn_of_small_memory(cf, conf);
  }
  return load_keys(cf, conf) == conf_ok ? make_zone(cf, conf) : conf_error;
}

void* create_srv_conf(ngx_conf_t* cf) noexcept {
  auto* conf = make<SrvConf>(cf->pool);
  return conf == nullptr || ngx_array_init(&conf->rooms, cf->pool, 2, sizeof(RoomConf*)) != NGX_OK ? nullptr : conf;
}

void* create_loc_conf(ngx_conf_t* cf) noexcept {
  return make<LocConf>(cf->pool);
}

char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
  const auto& above = *static_cast<LocConf*>(parent);
  auto& conf = *static_cast<LocConf*>(child);
  auto& core = *static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  if (conf.dry_run == NGX_CONF_UNSET) {
    conf.dry_run = above.dry_run == NGX_CONF_UNSET ? 0 : above.dry_run;
  }
  if (core.noname && above.own_endpoint && core.handler == nullptr) {  // if {} and limit_except {} are the same endpoint
    conf.own_endpoint = true;
    conf.endpoint = above.endpoint;
    conf.endpoint_prefix = above.endpoint_prefix;
    core.handler = above.endpoint;
  }
  if (conf.use_room.kind == Use::Kind::unset) {
    conf.use_room = above.use_room;
    conf.room = above.room;
  } else if (resolve(cf, conf) != NGX_OK) {
    return conf_error;
  }
  if (merge_queue(cf, above, conf) != NGX_OK) {
    return conf_error;
  }
  if (conf.endpoint == api_handler) {  // which bounds bodies itself, with a problem as its answer
    core.client_max_body_size = 0;
    core.client_body_buffer_size = std::max<std::size_t>(core.client_body_buffer_size, kMaxApiBody);
  }
  if (conf.own_endpoint) {
    conf.room = nullptr;
    conf.queue = nullptr;
  }
  if (conf.room != nullptr) {
    warn_of_return(cf, conf);
  }
  return conf_ok;
}

ngx_int_t check_rooms(ngx_conf_t* cf) noexcept {
  auto& conf = *static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_fairway_module));
  for (const RoomConf* room : rooms(conf)) {
    if (!room->attached && !conf.any_auto) {
      ngx_log_error(NGX_LOG_WARN, cf->log, 0, "waiting_room \"%V\" in %s:%ui is attached to no server or location", &room->name, room->file,
                    room->line);
    }
  }
  warn_of_idle_queues(cf, conf);
  return NGX_OK;
}

}  // namespace fairway::ngx
