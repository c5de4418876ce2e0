// The only way to nginx: every other file of this folder includes this one. nginx macros that are unsafe in C++ (several
// statements, bare if/else) are wrapped in functions here.
#pragma once

extern "C" {
#include <ngx_config.h>
// order matters
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
}

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

extern "C" {
extern ngx_module_t ngx_http_fairway_module;         // directives, phases before and around the upstream
extern ngx_module_t ngx_http_fairway_filter_module;  // header filter behind nginx's own headers filter; first in server rewrite
}

namespace fairway::ngx {

inline std::string_view view(const ngx_str_t& text) noexcept {
  return {reinterpret_cast<const char*>(text.data), text.len};
}

inline ngx_str_t str(std::string_view text) noexcept {
  return {text.size(), reinterpret_cast<u_char*>(const_cast<char*>(text.data()))};
}

inline char* const conf_ok = nullptr;
inline char* const conf_error = reinterpret_cast<char*>(-1);

// A trivially destructible object in a pool, value-initialised; nullptr when memory is short.
template <class T, class... Args>
T* make(ngx_pool_t* pool, Args&&... args) noexcept {
  static_assert(std::is_trivially_destructible_v<T>);
  void* memory = ngx_pcalloc(pool, sizeof(T));
  return memory == nullptr ? nullptr : new (memory) T{std::forward<Args>(args)...};
}

// Any object in a pool; its destructor runs with the pool's. The constructor may throw only std::bad_alloc.
template <class T, class... Args>
T* make_owned(ngx_pool_t* pool, Args&&... args) noexcept {
  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(pool, sizeof(T));
  if (cleanup == nullptr) {
    return nullptr;
  }
  try {
    T* object = new (cleanup->data) T(std::forward<Args>(args)...);
    cleanup->handler = [](void* data) { static_cast<T*>(data)->~T(); };
    return object;
  } catch (...) {
    return nullptr;
  }
}

// A copy of `text` in the pool; data is nullptr when memory is short.
inline ngx_str_t copy(ngx_pool_t* pool, std::string_view text) noexcept {
  auto* data = static_cast<u_char*>(ngx_pnalloc(pool, text.empty() ? 1 : text.size()));
  if (data != nullptr && !text.empty()) {  // the data of an empty one may be nullptr, which memcpy may not get
    ngx_memcpy(data, text.data(), text.size());
  }
  return {data == nullptr ? 0 : text.size(), data};
}

inline ngx_str_t concat(ngx_pool_t* pool, std::string_view first, std::string_view second) noexcept {
  auto* data = static_cast<u_char*>(ngx_pnalloc(pool, first.size() + second.size() + 1));
  if (data == nullptr) {
    return {0, nullptr};
  }
  ngx_memcpy(data, first.data(), first.size());
  ngx_memcpy(data + first.size(), second.data(), second.size());
  return {first.size() + second.size(), data};
}

// Looks at the request's Cookie headers in the order sent and keeps those for which `keep(header)` is true.
template <class Keep>
void filter_cookies(ngx_http_request_t* r, Keep&& keep) noexcept {
#if nginx_version >= 1023000
  ngx_table_elt_t** link = &r->headers_in.cookie;
  for (ngx_table_elt_t* header = *link; header != nullptr; header = header->next) {
    if (keep(*header)) {
      *link = header;
      link = &header->next;
    }
  }
  *link = nullptr;
#else
  ngx_array_t& cookies = r->headers_in.cookies;
  auto** headers = static_cast<ngx_table_elt_t**>(cookies.elts);
  ngx_uint_t kept = 0;
  for (ngx_uint_t i = 0; i < cookies.nelts; ++i) {
    if (keep(*headers[i])) {
      headers[kept++] = headers[i];
    }
  }
  cookies.nelts = kept;
#endif
}

inline void add_timer(ngx_event_t* event, ngx_msec_t milliseconds) noexcept {
  ngx_add_timer(event, milliseconds);
}

// Runs the event's handler at the end of this turn of the event loop.
inline void post(ngx_event_t* event) noexcept {
  ngx_post_event(event, &ngx_posted_events);
}

inline void unpost(ngx_event_t* event) noexcept {
  if (event->posted) {
    ngx_delete_posted_event(event);
  }
}

inline void delete_timer(ngx_event_t* event) noexcept {
  if (event->timer_set) {
    ngx_del_timer(event);
  }
}

}  // namespace fairway::ngx
