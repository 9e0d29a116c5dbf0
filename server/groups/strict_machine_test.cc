// What the rules make of a machine that is as strict as Windows, or more so.
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

using machine::simulated::Behaviour;
using machine::simulated::NodeState;
using machine::simulated::OutParameters;

class StrictMachineTest : public HandlerTest {
 protected:
  void Change(const std::function<void(NodeState&)>& change) { node_->core()->Change(change); }
  void Behave(const std::function<void(Behaviour&)>& change) {
    Change([&](NodeState& state) { change(state.behaviour); });
  }
  absl::Status Format(const CallContext& context, const std::string& volume) {
    return volume_->FormatVolume(context, {.volume_id = volume}).status();
  }
  absl::Status Mount(const std::string& volume, const std::string& path) {
    return volume_->MountVolume(context_, {.volume_id = volume, .target_path = path}).status();
  }
  absl::Status Unmount(const std::string& volume, const std::string& path) {
    return volume_->UnmountVolume(context_, {.volume_id = volume, .target_path = path}).status();
  }
};

TEST_F(StrictMachineTest, FormatDoesNotWaitForTheCacheOfWmi) {
  Behave([](Behaviour& behaviour) { behaviour.volume_cache_delay = absl::Hours(1); });
  const std::string volume = Volume(1, false);
  const absl::Time start = absl::Now();
  const absl::Status formatted = Format(context_, volume);
  EXPECT_TRUE(formatted.ok()) << formatted;
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_F(StrictMachineTest, FormatOfAVolumeThatIsGoneIsNotFoundAtOnce) {
  const std::string volume = Volume(1, false);
  ASSERT_TRUE(node_->DetachDisk(1).ok());
  const absl::Time start = absl::Now();
  EXPECT_TRUE(absl::IsNotFound(Format(context_, volume)));
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_F(StrictMachineTest, FormatEndsWithItsCallWhenWmiNeverLearns) {
  const std::string volume = Volume(1, false);
  Behave([](Behaviour& behaviour) { behaviour.volume_cache_delay = absl::Hours(1); });
  Change([](NodeState& state) {
    state.disks[1].partitions[1].cached_at = absl::Now() + absl::Hours(1);
  });
  machine::simulated::FaultRule rule;
  rule.operation = "wmi.Invoke/MSFT_Disk.Refresh";
  rule.code = absl::StatusCode::kInternal;
  rule.error = machine::simulated::KnownError(4);
  ASSERT_TRUE(node_->InjectFault(rule).ok());
  const absl::Status failed = Format(context_.WithTimeout(absl::Milliseconds(100)), volume);
  EXPECT_TRUE(absl::IsDeadlineExceeded(failed)) << failed;
}

TEST_F(StrictMachineTest, APartitionIsMadeWhateverTheOutParametersSay) {
  for (const OutParameters how : {OutParameters::kNull, OutParameters::kOdd}) {
    node_->Reset();
    Behave([&](Behaviour& behaviour) { behaviour.out_parameters = how; });
    const absl::Status made = disk_->PartitionDisk(context_, {.disk_number = 1}).status();
    EXPECT_TRUE(made.ok()) << made;
    const auto volumes = volume_->ListVolumesOnDisk(context_, {.disk_number = 1});
    ASSERT_EQ(volumes->volume_ids.size(), 1u);
    EXPECT_TRUE(Format(context_, volumes->volume_ids[0]).ok());
    // A refusal is told, without the words that did not come.
    const absl::Status refused = disk_->SetDiskState(context_, {.disk_number = 0}).status();
    EXPECT_TRUE(absl::StrContains(refused.message(), "41009")) << refused;
  }
}

TEST_F(StrictMachineTest, ADiskWithoutANumberHidesNoOther) {
  const auto before = disk_->ListDiskIDs(context_, {});
  ASSERT_TRUE(before.ok());
  Change([](NodeState& state) { state.disks[1].without_number = true; });
  const auto ids = disk_->ListDiskIDs(context_, {});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->disk_ids.size(), before->disk_ids.size() - 1);
  EXPECT_FALSE(ids->disk_ids.contains(1));
  const auto locations = disk_->ListDiskLocations(context_, {});
  ASSERT_TRUE(locations.ok()) << locations.status();
  EXPECT_TRUE(locations->disk_locations.contains(3));
  EXPECT_TRUE(absl::IsNotFound(disk_->PartitionDisk(context_, {.disk_number = 1}).status()));
  EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = 2}).ok());
}

TEST_F(StrictMachineTest, AWriteProtectedVolumeIsUnmountedAllTheSame) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(Mount(volume, Below("m")).ok());
  Change([](NodeState& state) { state.disks[1].read_only = true; });
  EXPECT_TRUE(volume_->WriteVolumeCache(context_, {.volume_id = volume}).ok());
  const absl::Status unmounted = Unmount(volume, Below("m"));
  EXPECT_TRUE(unmounted.ok()) << unmounted;
}

TEST_F(StrictMachineTest, WithoutAutomountPartitionDiskBringsTheVolume) {
  Behave([](Behaviour& behaviour) { behaviour.automount_disabled = true; });
  EXPECT_TRUE(Format(context_, Volume(1, false)).ok());
}

TEST_F(StrictMachineTest, WithoutAutomountAPartitionThatIsThereBringsItsVolumeToo) {
  const std::string volume = Volume(1);
  Change([](NodeState& state) { state.disks[1].partitions[1].awaits_online = true; });
  EXPECT_TRUE(volume_->ListVolumesOnDisk(context_, {.disk_number = 1})->volume_ids.empty());
  EXPECT_EQ(Volume(1, false), volume);
}

}  // namespace
}  // namespace csi_proxy::groups
