// Random lives of a room. FAIRWAY_PROPERTY_OPS sets how many operations are run in all (nightly: millions), FAIRWAY_PROPERTY_SEED
// the first seed; a failure names the seed and the step, and runs the same again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "room_world.h"

namespace fairway::room::test {
namespace {

// splitmix64: small, fast, the same everywhere.
class Random final : public Choices {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t n) override {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31)) % n;
  }

 private:
  std::uint64_t state_;
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kSteps = 200'000;
#else
constexpr std::uint64_t kSteps = 1'500'000;
#endif

TEST(RoomProperties, TheGuaranteesOfTheLineHoldWhateverHappens) {
  const std::uint64_t steps = from_environment("FAIRWAY_PROPERTY_OPS", kSteps);
  const std::uint64_t first = from_environment("FAIRWAY_PROPERTY_SEED", 1);
  constexpr std::uint64_t kStepsPerLife = 5000;
  Tally all;
  std::uint64_t done = 0;
  for (std::uint64_t seed = first; done < steps; ++seed) {
    Random random(seed);
    World world(random);
    for (std::uint64_t i = 0; i < kStepsPerLife && done < steps; ++i, ++done) {
      const std::string wrong = world.step();
      ASSERT_EQ(wrong, "") << "seed " << seed << ", step " << i << " (FAIRWAY_PROPERTY_SEED=" << seed << ")" << world.describe();
    }
    const Tally& s = world.tally();
    all = {all.calls + s.calls,
           all.admitted + s.admitted,
           all.waiting + s.waiting,
           all.gone + s.gone,
           all.full + s.full,
           all.no_memory + s.no_memory,
           all.losses + s.losses,
           all.rollbacks + s.rollbacks,
           all.recoveries + s.recoveries,
           all.returned + s.returned,
           all.cuts + s.cuts};
  }
  std::cout << all.calls << " calls: admitted " << all.admitted << ", waiting " << all.waiting << ", gone " << all.gone << ", full "
            << all.full << ", no memory " << all.no_memory << "; losses " << all.losses << ", rolled back " << all.rollbacks
            << ", recoveries " << all.recoveries << ", returned after a loss " << all.returned << ", cuts " << all.cuts << "\n";
  // A run in which nothing happens shows nothing.
  EXPECT_GT(all.admitted, steps / 50);
  EXPECT_GT(all.waiting, steps / 50);
  if (steps >= 100'000) {
    EXPECT_GT(all.losses, 10U);
    EXPECT_GT(all.rollbacks, 10U);
    EXPECT_GT(all.returned, 100U);
    EXPECT_GT(all.no_memory, 10U);
    EXPECT_GT(all.full, 10U);
  }
}

}  // namespace
}  // namespace fairway::room::test
