// Random operations of several workers, with deaths, changed limits and lost tables: the books of the queue must hold after each.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "queue_driver.h"

namespace fairway::queue {
namespace {

TEST(FairQueueProperty, BooksHoldWhateverHappens) {
  const bool held = rc::check([](const std::vector<std::uint8_t>& start) {
    std::vector<std::uint8_t> bytes = start;
    bytes.resize(20 * start.size());  // long runs from short seeds, so that shrinking stays quick
    std::uint32_t mixed = 1;
    for (std::size_t i = start.size(); i < bytes.size(); ++i) {
      mixed = mixed * 1664525U + 1013904223U + bytes[i - start.size()];
      bytes[i] = static_cast<std::uint8_t>(mixed >> 24);
    }
    testing::Driver().run(bytes);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace fairway::queue
