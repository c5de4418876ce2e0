// One coroutine for a request that has to wait: it reads top to bottom and returns what the phase handler is to return. Its frame
// lies in the request's pool; destroying it is cancelling it. It never finalizes, sends or redirects, so it cannot be destroyed
// while it runs. Keep co_await a whole statement, no lambdas, no temporaries across it.
#pragma once

#include <coroutine>
#include <utility>

#include "nginx/ngx.h"

namespace fairway::ngx {

class Task {
 public:
  struct promise_type {
    ngx_int_t result = NGX_HTTP_INTERNAL_SERVER_ERROR;

    template <class... Args>
    static void* operator new(std::size_t size, ngx_http_request_t* r, Args&...) noexcept {
      return ngx_palloc(r->pool, size);
    }
    static void operator delete(void*) noexcept {}  // NOLINT(misc-new-delete-overloads): the pool's; the other operator is a template
    static Task get_return_object_on_allocation_failure() noexcept { return Task{nullptr}; }

    Task get_return_object() noexcept { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(ngx_int_t code) noexcept { result = code; }
    void unhandled_exception() noexcept { result = NGX_HTTP_INTERNAL_SERVER_ERROR; }
  };

  Task() noexcept = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  bool exists() const noexcept { return static_cast<bool>(handle_); }
  bool done() const noexcept { return handle_.done(); }
  ngx_int_t result() const noexcept { return handle_.promise().result; }
  void resume() noexcept { handle_.resume(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace fairway::ngx
