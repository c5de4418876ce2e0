#include "allocations.h"

#include <openssl/crypto.h>

#include <atomic>
#include <cstdlib>
#include <new>

#ifdef __SANITIZE_ADDRESS__
// Of the sanitizers' common interface; Debian's g++ brings no header of it.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                                         void (*on_free)(const volatile void*));
#endif

namespace {

std::atomic<std::size_t> count{0};

}  // namespace

#ifdef __SANITIZE_ADDRESS__

// AddressSanitizer checks that new meets delete; replacing only some of their forms would hide that, so its own hooks count. They see
// every allocation of the process, OpenSSL's too.
namespace {

void counted(const volatile void*, std::size_t) {
  ++count;
}
void ignored(const volatile void*) {}

const bool openssl_counted = __sanitizer_install_malloc_and_free_hooks(counted, ignored) != 0;

}  // namespace

#else

namespace {

void* counted_malloc(std::size_t size, const char*, int) {
  ++count;
  return std::malloc(size);
}
void* counted_realloc(void* old, std::size_t size, const char*, int) {
  ++count;
  return std::realloc(old, size);
}
void plain_free(void* memory, const char*, int) {
  std::free(memory);
}

// OpenSSL takes other functions only before its first allocation.
const bool openssl_counted = CRYPTO_set_mem_functions(counted_malloc, counted_realloc, plain_free) == 1;

}  // namespace

void* operator new(std::size_t size) {
  ++count;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

#endif

namespace fairway::test {

std::size_t allocations() noexcept {
  return count;
}
bool counts_openssl() noexcept {
  return openssl_counted;
}

}  // namespace fairway::test
