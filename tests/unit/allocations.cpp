#include "allocations.h"

#include <openssl/crypto.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};

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

namespace fairway::test {

std::size_t allocations() noexcept {
  return count;
}
bool counts_openssl() noexcept {
  return openssl_counted;
}

}  // namespace fairway::test
