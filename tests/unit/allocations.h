// Counts what this process allocates, by operator new and by OpenSSL, to show that a piece of code allocates nothing.
#pragma once

#include <cstddef>

namespace fairway::test {

std::size_t allocations() noexcept;
// False when OpenSSL could not be told to count: the figure would miss its part.
bool counts_openssl() noexcept;

}  // namespace fairway::test
