// Tests the handlers over a machine that is at least as strict as Windows.
#include "absl/strings/match.h"
#include "csi_proxy/steady_time.h"
#include "server/groups/testing.h"
#include "server/machine/access.h"

namespace csi_proxy::groups {
namespace {

using machine::simulator::Behaviour;
using machine::simulator::NodeState;
using machine::simulator::OutParameters;

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

TEST_F(StrictMachineTest, FormatVolumeDoesNotWaitForWmisCache) {
  Behave([](Behaviour& behaviour) { behaviour.volume_cache_delay = absl::Hours(1); });
  const std::string volume = Volume(1, false);
  const SteadyTime start = SteadyTime::Now();
  const absl::Status formatted = Format(context_, volume);
  EXPECT_TRUE(formatted.ok()) << formatted;
  EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(5));
}

TEST_F(StrictMachineTest, FormatVolumeFailsWithoutAWaitIfTheVolumeIsDetached) {
  const std::string volume = Volume(1, false);
  ASSERT_TRUE(node_->DetachDisk(1).ok());
  const SteadyTime start = SteadyTime::Now();
  EXPECT_TRUE(absl::IsNotFound(Format(context_, volume)));
  EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(5));
}

TEST_F(StrictMachineTest, FormatVolumeEndsAtItsDeadlineIfWmiNeverShowsTheVolume) {
  const std::string volume = Volume(1, false);
  Behave([](Behaviour& behaviour) { behaviour.volume_cache_delay = absl::Hours(1); });
  Change([](NodeState& state) {
    state.disks[1].partitions[1].cached_at = SteadyTime::Now() + absl::Hours(1);
  });
  Fail("wmi.Invoke/MSFT_Disk.Refresh", 0, 4);
  const absl::Status failed = Format(context_.WithTimeout(absl::Milliseconds(100)), volume);
  EXPECT_TRUE(absl::IsDeadlineExceeded(failed)) << failed;
}

TEST_F(StrictMachineTest, PartitionDiskSucceedsWithOddOutParametersOfWmi) {
  for (const OutParameters how : {OutParameters::kNull, OutParameters::kOdd}) {
    node_->Reset();
    Behave([&](Behaviour& behaviour) { behaviour.out_parameters = how; });
    const absl::Status made = disk_->PartitionDisk(context_, {.disk_number = 1}).status();
    EXPECT_TRUE(made.ok()) << made;
    const auto volumes = volume_->ListVolumesOnDisk(context_, {.disk_number = 1});
    ASSERT_EQ(volumes->volume_ids.size(), 1u);
    EXPECT_TRUE(Format(context_, volumes->volume_ids[0]).ok());
    // Windows' text may be missing; the error must contain the number.
    const absl::Status refused =
        host_->disk().InitializeGpt(context_, *host_->disk().GetLayout(context_, 1));
    EXPECT_TRUE(absl::StrContains(refused.message(), "41001")) << refused;
  }
}

TEST_F(StrictMachineTest, ADiskWithoutANumberIsOmittedFromListings) {
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

TEST_F(StrictMachineTest, AWriteProtectedVolumeCanBeUnmounted) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(Mount(volume, Below("m")).ok());
  Change([](NodeState& state) { state.disks[1].read_only = true; });
  EXPECT_TRUE(volume_->WriteVolumeCache(context_, {.volume_id = volume}).ok());
  const absl::Status unmounted = Unmount(volume, Below("m"));
  EXPECT_TRUE(unmounted.ok()) << unmounted;
}

TEST_F(StrictMachineTest, WithoutAutomountPartitionDiskMakesTheVolumeAvailable) {
  Behave([](Behaviour& behaviour) { behaviour.automount_disabled = true; });
  EXPECT_TRUE(Format(context_, Volume(1, false)).ok());
}

TEST_F(StrictMachineTest, WithoutAutomountPartitionDiskMakesAnExistingVolumeAvailable) {
  const std::string volume = Volume(1);
  Change([](NodeState& state) { state.disks[1].partitions[1].awaits_online = true; });
  EXPECT_TRUE(volume_->ListVolumesOnDisk(context_, {.disk_number = 1})->volume_ids.empty());
  EXPECT_EQ(Volume(1, false), volume);
}

TEST_F(StrictMachineTest, AJunctionCountsAsALinkAndNotAsAMount) {
  ASSERT_TRUE(Mkdir(Below("t\\kept")).ok());
  ASSERT_TRUE(node_->MakeLink(Below("j"), Below("t"), true).ok());
  EXPECT_TRUE(filesystem_->IsSymlink(context_, {.path = Below("j")})->is_symlink);
  EXPECT_TRUE(Exists(Below("j\\kept")));
  const std::string volume = Volume(1);
  EXPECT_TRUE(absl::IsNotFound(Unmount(volume, Below("j"))));
  EXPECT_FALSE(Mount(volume, Below("j")).ok());
  ASSERT_TRUE(Mount(volume, Below("t\\kept")).ok());
  const auto found =
      volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below("j\\kept")});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->volume_id, volume);
  ASSERT_TRUE(Rmdir(Below("j"), true).ok());
  EXPECT_FALSE(Exists(Below("j")));
  EXPECT_TRUE(Exists(Below("t\\kept")));
}

TEST_F(StrictMachineTest, RmdirIsUnavailableIfAPodHasAnEntryOpen) {
  ASSERT_TRUE(Mkdir(Below("pod\\logs")).ok());
  ASSERT_TRUE(node_
                  ->SetOtherOpens({{Below("pod\\logs"), machine::right::kReadData,
                                    machine::share::kRead | machine::share::kWrite}})
                  .ok());
  const absl::Status refused = Rmdir(Below("pod"), true);
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  ASSERT_TRUE(node_->SetOtherOpens({}).ok());
  EXPECT_TRUE(Rmdir(Below("pod"), true).ok());
}

TEST_F(StrictMachineTest, RmdirWaitsForAnEntryThatIsOpenBriefly) {
  ASSERT_TRUE(Mkdir(Below("held\\inner")).ok());
  Fail("win32.Open", 3, 32, Below("held"));
  EXPECT_TRUE(Rmdir(Below("held"), true).ok());
  // The retries end when the call's deadline passes.
  ASSERT_TRUE(Mkdir(Below("held")).ok());
  Fail("win32.Open", 0, 32, Below("held"));
  const SteadyTime start = SteadyTime::Now();
  const CallContext hurried = context_.WithTimeout(absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsUnavailable(filesystem_->Mkdir(hurried, {.path = Below("held")}).status()));
  EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(1));
}

// The entry is deleted but another process has it open: for drivers it is absent.
TEST_F(StrictMachineTest, AnEntryThatIsBeingDeletedCountsAsAbsent) {
  Behave([](Behaviour& behaviour) { behaviour.plain_deletion = true; });
  ASSERT_TRUE(Mkdir(Below("d\\e")).ok());
  ASSERT_TRUE(node_
                  ->SetOtherOpens(
                      {{Below("d\\e"), machine::right::kReadData,
                        machine::share::kRead | machine::share::kWrite | machine::share::kDelete}})
                  .ok());
  ASSERT_TRUE(Rmdir(Below("d\\e")).ok());
  EXPECT_FALSE(Exists(Below("d\\e")));
  EXPECT_TRUE(Rmdir(Below("d\\e"), true).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Rmdir(Below("d"))));
  ASSERT_TRUE(node_->SetOtherOpens({}).ok());
  EXPECT_TRUE(Rmdir(Below("d"), true).ok());
}

}  // namespace
}  // namespace csi_proxy::groups
