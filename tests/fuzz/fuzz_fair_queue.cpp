// Operation sequences of several workers against a small fair queue, with deaths and lost tables; its books are checked after each.
#include <cstddef>
#include <cstdint>

#include "../unit/queue_driver.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1024) return 0;  // long runs teach no more than short ones
  fairway::queue::testing::Driver().run({data, size});
  return 0;
}
