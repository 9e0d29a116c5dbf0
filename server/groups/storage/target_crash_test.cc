// Kills StageTarget and UnstageTarget at each call to Windows and repeats them, as crash_test.cc
// does with StageVolume.
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/groups/storage/target_testing.h"

namespace csi_proxy::storage {
namespace {

struct TargetStart {
  Start start;
  bool mpio;

  friend void PrintTo(const TargetStart& start, std::ostream* out) { *out << start.start.name; }
};
std::string Name(const testing::TestParamInfo<TargetStart>& info) { return info.param.start.name; }

Act StageAct(bool mpio) {
  return [mpio](Process& process) {
    return process.storage
        ->StageTarget(process.context, mpio ? MultipathRequest() : TargetRequest())
        .status();
  };
}
absl::Status UnstageAct(Process& process) {
  return process.storage->UnstageTarget(process.context, UnstageRequest()).status();
}

std::vector<TargetStart> StagingStarts() {
  const auto staged = [](Machine& node) {
    Process process(&node);
    EXPECT_TRUE(StageAct(false)(process).ok());
  };
  const auto nothing = [](Machine&) {};
  return {
      {{"Nothing", nothing}, false},
      {{"NothingWithMpio", nothing}, true},
      {{"TheDiskWasUsedBefore",
        [staged](Machine& node) {
          staged(node);
          Process process(&node);
          EXPECT_TRUE(UnstageAct(process).ok());
        }},
       false},
      {{"NotPersistentYet",
        [](Machine& node) {
          StageTargetRequest request = TargetRequest();
          request.persistent = false;
          Process process(&node);
          EXPECT_TRUE(process.storage->StageTarget(process.context, request).ok());
        }},
       false},
      {{"OnePathWithMpio", staged}, true},
      {{"StagedAndGrown",
        [staged](Machine& node) {
          staged(node);
          EXPECT_TRUE(node.GrowDisk(10, uint64_t{3} << 30).ok());
        }},
       false},
  };
}

NodeState StateAt(const TargetStart& start) {
  const auto node = NodeIn(TargetState(start.mpio));
  start.start.prepare(*node);
  return node->Snapshot();
}

class TargetCrashTest : public testing::TestWithParam<TargetStart> {};
TEST_P(TargetCrashTest, StageTargetKilledAtAnyStepAndRepeatedReachesTheSameState) {
  KillEverywhere(StateAt(GetParam()), StageAct(GetParam().mpio), UnstageAct);
}
TEST_P(TargetCrashTest, UnstageTargetKilledAtAnyStepAndRepeatedReachesTheSameState) {
  const NodeState state = StateAt(GetParam());
  const auto node = NodeIn(state);
  Process process(node.get());
  ASSERT_TRUE(StageAct(GetParam().mpio)(process).ok());
  KillEverywhere(node->Snapshot(), UnstageAct, StageAct(GetParam().mpio));
}
INSTANTIATE_TEST_SUITE_P(From, TargetCrashTest, testing::ValuesIn(StagingStarts()), Name);

}  // namespace
}  // namespace csi_proxy::storage
