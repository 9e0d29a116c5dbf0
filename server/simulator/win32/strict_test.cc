// Tests that the double refuses as Win32 does, where a friendlier double would not.
#include "server/machine/layouts.h"
#include "server/machine/reparse_point.h"
#include "server/simulator/win32/layouts_encode.h"
#include "server/simulator/win32/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

using machine::DeviceAccess;
using testing::ElementsAre;

class StrictWin32Test : public Win32Test {
 protected:
  absl::Status AskForExtents(const std::string& volume) {
    return os_
        ->Control(volume.substr(0, volume.size() - 1), DeviceAccess::kNone,
                  machine::control::kGetVolumeDiskExtents, {}, machine::kMaxExtents)
        .status();
  }
};

TEST_F(StrictWin32Test, AWriteProtectedVolumeCannotBeFlushed) {
  const std::string volume = NewVolume(1);
  EXPECT_THAT(os_->Flush(volume), IsOk());
  Change([](NodeState& state) { state.disks[1].read_only = true; });
  EXPECT_THAT(os_->Flush(volume), FailsWithWin32(win32_error::kWriteProtect));
}

TEST_F(StrictWin32Test, AFileSystemMountedReadOnlyStaysReadOnlyUntilItsDismount) {
  const std::string volume = NewVolume(1);
  const std::string device = volume.substr(0, volume.size() - 1);
  const auto write = [&](const char* name) {
    return (*os_->OpenRoot(volume))->CreateDirectory(name).status();
  };
  Change([](NodeState& state) {
    ASSERT_THAT(TakeOffline(state.disks[1]), IsOk());
    state.behaviour.online_makes_read_only = true;
    ASSERT_THAT(TakeOnline(state, state.disks[1]), IsOk());
  });
  ASSERT_THAT(
      os_->Control("\\\\.\\PhysicalDrive1", DeviceAccess::kReadWrite,
                   machine::control::kSetDiskAttributes, machine::ClearReadOnlyRequest(), 0),
      IsOk());
  EXPECT_THAT(os_->Flush(volume), FailsWithWin32(win32_error::kWriteProtect));
  EXPECT_THAT(write("a"), FailsWithWin32(win32_error::kWriteProtect));
  EXPECT_TRUE(os_->GetFileSystem(volume)->read_only);
  const auto dismount = [&](const std::string& name) {
    return os_->Control(name, DeviceAccess::kReadWrite, machine::control::kDismountVolume, {}, 0)
        .status();
  };
  EXPECT_THAT(dismount("\\\\.\\PhysicalDrive1"), FailsWithWin32(win32_error::kInvalidFunction));
  EXPECT_THAT(dismount(volume), FailsWithWin32(win32_error::kAccessDenied)) << "a directory";
  ASSERT_THAT(dismount(device), IsOk());
  EXPECT_FALSE(os_->GetFileSystem(volume)->read_only);
  EXPECT_THAT(os_->Flush(volume), IsOk());
  EXPECT_THAT(write("a"), IsOk());
}

TEST_F(StrictWin32Test, ADiskReportsItsPartitionsAndItsNewSize) {
  const auto ask = [&](uint32_t code, DeviceAccess access) {
    return os_->Control("\\\\.\\PhysicalDrive1", access, code, {}, machine::kMaxDriveLayout);
  };
  const auto layout = [&] {
    return *machine::ParseDriveLayout(*ask(machine::control::kGetDriveLayout, DeviceAccess::kRead));
  };
  EXPECT_TRUE(layout().empty());
  NewVolume(1);
  for (const bool online : {true, false}) {
    Change([&](NodeState& state) { state.disks[1].online = online; });
    ASSERT_EQ(layout().size(), 2u);
    EXPECT_FALSE(layout()[0].holds_volume);
    EXPECT_TRUE(layout()[1].holds_volume);
    EXPECT_EQ(layout()[1].number, 2u);
  }
  Change([](NodeState& state) { state.disks[1].style = PartitionStyle::kMbr; });
  ASSERT_EQ(layout().size(), 1u) << "a reserved partition is not one of MBR";
  EXPECT_TRUE(layout()[0].holds_volume);

  ASSERT_THAT(node_->GrowDisk(1, 50 * kGiB), IsOk());
  const auto length = [&] {
    return *machine::ParseLength(*ask(machine::control::kGetLength, DeviceAccess::kRead));
  };
  EXPECT_EQ(length(), 10 * kGiB);
  EXPECT_THAT(ask(machine::control::kUpdateDriveSize, DeviceAccess::kRead),
              FailsWithWin32(win32_error::kAccessDenied));
  EXPECT_THAT(ask(machine::control::kUpdateDriveSize, DeviceAccess::kReadWrite), IsOk());
  EXPECT_EQ(length(), 50 * kGiB);
}

TEST_F(StrictWin32Test, VolumesArriveSomeTimeAfterTheirDiskIsOnline) {
  const std::string volume = NewVolume(1);
  ASSERT_THAT(host_->disk().SetOnline(context_, 1, false), IsOk());
  Change([](NodeState& state) { state.volume_arrival_delay = absl::Hours(1); });
  ASSERT_THAT(host_->disk().SetOnline(context_, 1, true), IsOk());
  EXPECT_THAT(*os_->ListVolumes(), ElementsAre(kSystemVolume));
  EXPECT_THAT(AskForExtents(volume), FailsWithWin32(win32_error::kFileNotFound));
}

TEST_F(StrictWin32Test, DeleteReparsePointMakesAMountedFolderPlain) {
  const std::string volume = NewVolume(1);
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\m"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\m\\", volume), IsOk());
  const auto open = [&](Access access) { return *Open("C:\\", {"t", "m"}, access); };
  EXPECT_THAT(open(Access::kRead)->DeleteReparsePoint(machine::kReparseTagMountPoint),
              FailsWithWin32(win32_error::kAccessDenied));
  EXPECT_THAT(open(Access::kWriteAttributes)->DeleteReparsePoint(machine::kReparseTagSymlink),
              FailsWithWin32(win32_error::kReparseTagMismatch));
  EXPECT_THAT(open(Access::kWriteAttributes)->DeleteReparsePoint(machine::kReparseTagMountPoint),
              IsOk());
  EXPECT_FALSE(open(Access::kRead)->GetAttributes()->is_reparse_point);
  EXPECT_THAT(open(Access::kWriteAttributes)->DeleteReparsePoint(machine::kReparseTagMountPoint),
              FailsWithWin32(win32_error::kNotAReparsePoint));
}

TEST_F(StrictWin32Test, ADiskWithoutANumberHasNoDevice) {
  Change([](NodeState& state) { state.disks[1].without_number = true; });
  EXPECT_THAT(os_->Control("\\\\.\\PhysicalDrive1", DeviceAccess::kNone,
                           machine::control::kGetDeviceNumber, {}, 64),
              FailsWithWin32(win32_error::kFileNotFound));
}

// learn.microsoft.com/windows/win32/fileio/determining-whether-a-directory-is-a-volume-mount-point:
// the tag alone does not distinguish junctions from mounted folders.
TEST_F(StrictWin32Test, AJunctionDiffersFromAMountedFolderOnlyInItsTarget) {
  const std::string volume = NewVolume(1);
  ASSERT_THAT(node_->MakeLink("C:\\t\\j", "C:\\k", true), IsOk());
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\m"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\m\\", volume), IsOk());
  const auto point = [&](const char* name) {
    OpenedFile file = Open("C:\\", {"t", name});
    EXPECT_THAT(file, IsOk());
    EXPECT_EQ((*file)->GetAttributes()->reparse_tag, machine::kReparseTagMountPoint) << name;
    return *machine::ParseReparsePoint(*(*file)->ReadReparsePoint());
  };
  EXPECT_EQ(point("j").target, "C:\\k");
  EXPECT_EQ(point("j").volume, std::nullopt);
  EXPECT_EQ(point("m").target, volume);
  EXPECT_EQ(point("m").volume, *VolumeId::Parse(volume));
  // The calls for mounted folders do not change a junction.
  EXPECT_THAT(os_->SetMountPoint("C:\\t\\j\\", volume), FailsWithWin32(win32_error::kDirNotEmpty));
  EXPECT_THAT(os_->DeleteMountPoint("C:\\t\\j\\"), IsOk());
  EXPECT_EQ(point("j").target, "C:\\k");
  EXPECT_THAT(os_->SetMountPoint("C:\\t\\j\\config\\", volume),
              FailsWithWin32(win32_error::kDirectory))
      << "it is followed on the way";
}

TEST_F(StrictWin32Test, AJunctionReplacesAMountedFolderButNotALink) {
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\m"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\m\\", NewVolume(1)), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\t\\l", "C:\\k"), IsOk());
  const machine::Bytes junction = *machine::MakeJunction(Path("C:\\k"));
  const auto write = [&](const char* name) {
    return (*Open("C:\\", {"t", name}, Access::kWriteAttributes))->WriteReparsePoint(junction);
  };
  EXPECT_THAT(write("m"), IsOk());
  EXPECT_EQ((*Open("C:\\", {"t", "m"}))->ReadReparsePoint().value(), junction);
  EXPECT_THAT(write("l"), FailsWithWin32(win32_error::kReparseTagMismatch));
}

TEST_F(StrictWin32Test, AStaleMountEntryRemainsAfterItsReparsePointIsDeleted) {
  const std::string volume = NewVolume(1);
  ASSERT_THAT(node_->MakeDirectory("C:\\k\\m"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\k\\m\\", volume), IsOk());
  Change([](NodeState& state) {
    state.behaviour.stale_mount_entries = true;
    ASSERT_THAT(TakeOffline(state.disks[1]), IsOk());
  });
  EXPECT_THAT(os_->DeleteMountPoint("C:\\k\\m\\"), FailsWithWin32(win32_error::kFileNotFound));
  ASSERT_THAT((*Open("C:\\", {"k", "m"}, Access::kWriteAttributes))
                  ->DeleteReparsePoint(machine::kReparseTagMountPoint),
              IsOk());
  Change([](NodeState& state) { ASSERT_THAT(TakeOnline(state, state.disks[1]), IsOk()); });
  EXPECT_THAT(os_->ListMountPoints(volume), Yields(std::vector<std::string>{"C:\\k\\m\\"}));
  EXPECT_FALSE((*Open("C:\\", {"k", "m"}))->GetAttributes()->is_reparse_point);
  // The mount manager forgets the folder when it ends a mount there.
  ASSERT_THAT(os_->SetMountPoint("C:\\k\\m\\", volume), IsOk());
  ASSERT_THAT(os_->DeleteMountPoint("C:\\k\\m\\"), IsOk());
  EXPECT_THAT(os_->ListMountPoints(volume), Yields(std::vector<std::string>{}));
}

TEST_F(StrictWin32Test, ClearingTheReadOnlyFlagCanBeConfiguredToRemountVolumes) {
  const std::string volume = NewVolume(1);
  const auto clear = [&] {
    Change([](NodeState& state) { state.disks[1].read_only = true; });
    ASSERT_THAT(
        os_->Control("\\\\.\\PhysicalDrive1", DeviceAccess::kReadWrite,
                     machine::control::kSetDiskAttributes, machine::ClearReadOnlyRequest(), 0),
        IsOk());
  };
  Change([](NodeState& state) { state.volume_arrival_delay = absl::Hours(1); });
  clear();
  EXPECT_THAT(os_->Flush(volume), IsOk());
  Change([](NodeState& state) { state.behaviour.clearing_read_only_remounts = true; });
  clear();
  EXPECT_THAT(os_->Flush(volume), FailsWithWin32(win32_error::kFileNotFound));
}

// bindflt may fail like this, at random: github.com/microsoft/Windows-Containers/issues/635.
TEST_F(StrictWin32Test, ARelativeOpenFailsOnceIfAFaultSaysSo) {
  FaultRule rule;
  rule.operation = "win32.Open";
  rule.resource = "C:\\k";
  rule.times = 1;
  rule.code = absl::StatusCode::kInternal;
  rule.error = KnownError(win32_error::kInvalidParameter);
  ASSERT_THAT(node_->InjectFault(rule), IsOk());
  EXPECT_THAT(Open("C:\\", {"k"}), FailsWithWin32(win32_error::kInvalidParameter));
  EXPECT_THAT(Open("C:\\", {"k"}), IsOk());
}

}  // namespace
}  // namespace csi_proxy::machine::simulator
