// The tests of the line that src/core's rules pass (tests/unit/room_*_test.cpp) run here on the script of a real server.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "../unit/room_visit.h"
#include "rooms.h"

namespace fairway::test {
namespace {

class ScriptedRoom final : public room::test::OtherStore {
 public:
  room::Summary call(Micros now, const room::Settings& settings, const room::Memory& memory, std::span<const room::Operation> operations,
                     std::span<room::Answer> answers) override {
    const valkey::Response response = scripted_.call({"sale", settings, memory, operations, {}, {}, 0}, now);
    std::ranges::copy(response.answers, answers.begin());
    return response.summary;
  }
  void lose() override { scripted_.lose(); }
  bool inside(const Sid& sid) override {
    return scripted_.connection().command({"ZSCORE", "fairway:{sale}:inside", raw(sid)}).type == valkey::Value::Type::text;
  }
  bool empty() override {
    return scripted_.connection().command({"EXISTS", "fairway:{sale}:session", "fairway:{sale}:line", "fairway:{sale}:inside"}).integer ==
           0;
  }

 private:
  static std::string_view raw(const Sid& sid) { return {reinterpret_cast<const char*>(sid.bytes.data()), sid.bytes.size()}; }

  Server server_;
  Scripted scripted_{server_};
};

// One server for all tests of the line, started when the first of them begins.
class SwapStore final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    if (std::string_view(test.test_suite_name()).substr(0, 4) != "Room") return;
    if (!room_) room_.emplace();
    room::test::other_store = &*room_;
  }
  void OnTestProgramEnd(const testing::UnitTest&) override { room_.reset(); }

  std::optional<ScriptedRoom> room_;
};

}  // namespace
}  // namespace fairway::test

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  testing::UnitTest::GetInstance()->listeners().Append(new fairway::test::SwapStore);
  return RUN_ALL_TESTS();
}
