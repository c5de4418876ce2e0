// What the directives say: one struct a level, filled by directives.cpp, read by everybody else. Lives in the configuration pool;
// nothing here is ever pointed to from shared memory.
#pragma once

#include <memory>
#include <string>

#include "core/token.h"
#include "nginx/ngx.h"
#include "operate/queue_settings.h"
#include "operate/room_settings.h"
#include "page/page.h"

namespace fairway::ngx {

struct RoomRow;
struct StoreConf;

using operate::Secure;

// waiting_room NAME { … }
struct RoomConf : operate::RoomSettings {
  ngx_str_t name{};
  const page::Template* page = nullptr;  // a site's own waiting page; nullptr: built in
  ngx_array_t* bypass = nullptr;         // of ngx_http_complex_value_t

  // Derived once:
  ngx_str_t ticket_cookie{};  // fairway_ticket_NAME
  ngx_str_t pass_cookie{};    // fairway_pass_NAME
  ngx_str_t path{};           // /__fairway/NAME/
  ngx_str_t status_path{};
  ngx_str_t leave_path{};
  ngx_uint_t index = 0;    // position in MainConf::rooms; those that the console made come after
  RoomRow* row = nullptr;  // in the workers
  u_char* file = nullptr;  // where it is defined
  ngx_uint_t line = 0;
  bool attached = false;  // some location uses it; known after merging
};

// fair_queue NAME { … }
struct QueueConf : operate::QueueSettings {
  ngx_str_t name{};
  queue::Capacity capacity;              // of the shared tables; cannot change while nginx runs
  ngx_array_t* inner_cookies = nullptr;  // of ngx_str_t
  ngx_array_t* inner_headers = nullptr;  // of ngx_str_t, lower case
  ngx_array_t* bypass = nullptr;         // of ngx_http_complex_value_t

  ngx_uint_t index = 0;          // position in MainConf::queues
  std::uint64_t generation = 0;  // see LimitsStamp
  ngx_shm_zone_t* zone = nullptr;
  u_char* file = nullptr;  // where it is defined
  ngx_uint_t line = 0;
  bool attached = false;
  bool has_upstream = false;  // some location that uses it has a content handler
};

struct MainConf {
  ngx_str_t state{};                         // folder, absolute
  ngx_str_t keys_file{};                     // absolute
  std::unique_ptr<KeyRing>* keys = nullptr;  // owned by the configuration pool; never null after init_main_conf when rooms exist
  std::string* keys_text = nullptr;          // what `keys` was made from; never logged
  std::string* new_keys = nullptr;           // keys_text when there was no keys file: prepare_files writes it
  bool keys_exposed = false;                 // the keys file is open to other users
  std::uint64_t generation = 0;              // set by the master once it counts; larger than those before
  bool keep_state = false;                   // set by prepare_files: workers can write into the state folder
  std::size_t memory = 0;                    // bytes of `fairway_store memory`; 0: `store`
  StoreConf* store = nullptr;                // a shared store; nullptr: memory
  ngx_array_t rooms{};                       // of RoomConf*
  ngx_array_t queues{};                      // of QueueConf*
  void** http_loc_conf = nullptr;            // of http {} itself: while nginx merges, its context shows the one being merged
  ngx_shm_zone_t* zone = nullptr;            // of the rooms; nullptr when there is none
  bool any_location = false;                 // some location uses a room
  bool needs_zone = false;                   // there are rooms, or there may be
  bool any_auto = false;                     // some location leaves the choice of rooms to the console
};

struct SrvConf {
  ngx_array_t rooms{};    // of RoomConf*: the rooms that some location of this server uses
  bool any_auto = false;  // some location of this server leaves the choice to the console
};

// Which room or queue a location uses, as the directive says it.
struct Use {
  enum class Kind : std::uint8_t { unset, off, automatic, named };
  Kind kind = Kind::unset;
  ngx_str_t name{};
  u_char* file = nullptr;  // where the directive stands, for messages at merge time
  ngx_uint_t line = 0;
};

struct LocConf {
  Use use_room;
  Use use_queue;
  RoomConf* room = nullptr;      // resolved at merge; nullptr: no room here
  QueueConf* queue = nullptr;    // likewise
  std::uint64_t cost_class = 0;  // requests of one location are taken to cost alike
  bool abort_said = false;       // proxy_ignore_client_abort (or fastcgi_…) is set here or above
  ngx_flag_t dry_run = NGX_CONF_UNSET;
  bool own_endpoint = false;               // fairway_metrics, fairway_api: never subject to a room or a queue
  ngx_http_handler_pt endpoint = nullptr;  // its content handler
  ngx_str_t endpoint_prefix{};             // fairway_api: of the location
};

extern ngx_command_t commands[];
void* create_main_conf(ngx_conf_t* cf) noexcept;
char* init_main_conf(ngx_conf_t* cf, void* data) noexcept;
void* create_srv_conf(ngx_conf_t* cf) noexcept;
void* create_loc_conf(ngx_conf_t* cf) noexcept;
char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;
// After merging (postconfiguration): warns of rooms attached to nothing.
ngx_int_t check_rooms(ngx_conf_t* cf) noexcept;

// Makes the state folder and the keys file when they are missing (called by the master at start, never by -t).
ngx_int_t prepare_files(ngx_cycle_t* cycle, MainConf& conf) noexcept;

inline MainConf* main_conf(ngx_http_request_t* r) noexcept {
  return static_cast<MainConf*>(ngx_http_get_module_main_conf(r, ngx_http_fairway_module));
}
inline SrvConf* srv_conf(ngx_http_request_t* r) noexcept {
  return static_cast<SrvConf*>(ngx_http_get_module_srv_conf(r, ngx_http_fairway_module));
}
inline LocConf* loc_conf(ngx_http_request_t* r) noexcept {
  return static_cast<LocConf*>(ngx_http_get_module_loc_conf(r, ngx_http_fairway_module));
}
// nullptr without http {} or before this module's configuration exists.
inline MainConf* main_conf(ngx_cycle_t* cycle) noexcept {
  return static_cast<MainConf*>(ngx_http_cycle_get_module_main_conf(cycle, ngx_http_fairway_module));
}

}  // namespace fairway::ngx
