// What Win32 refuses where a friendlier double would not.
#include "server/machine/layouts.h"
#include "server/machine/simulated/win32/test_os.h"

namespace csi_proxy::machine::simulated {
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

TEST_F(StrictWin32Test, VolumesOfAnOfflineDiskAreGone) {
  const std::string volume = NewVolume(1);
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\m"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\m", volume), IsOk());
  EXPECT_THAT(AskForExtents(volume), IsOk());
  Change([](NodeState& state) { state.disks[1].online = false; });
  EXPECT_THAT(*os_->ListVolumes(), ElementsAre(kSystemVolume));
  EXPECT_THAT(AskForExtents(volume), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->GetFileSystem(volume), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->GetSpace(volume), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->Flush(volume), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->OpenRoot(volume), FailsWithWin32(win32_error::kFileNotFound));
  // The mounted folder stays and leads nowhere; the disk itself still answers.
  EXPECT_TRUE((*Open("C:\\", {"t", "m"}))->GetAttributes()->is_reparse_point);
  EXPECT_THAT(os_->SetMountPoint("C:\\t\\m\\a", kSystemVolume),
              FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->Control("\\\\.\\PhysicalDrive1", DeviceAccess::kRead,
                           machine::control::kGetLength, {}, 64),
              IsOk());
}

TEST_F(StrictWin32Test, ADiskWithoutANumberHasNoDevice) {
  Change([](NodeState& state) { state.disks[1].without_number = true; });
  EXPECT_THAT(os_->Control("\\\\.\\PhysicalDrive1", DeviceAccess::kNone,
                           machine::control::kGetDeviceNumber, {}, 64),
              FailsWithWin32(win32_error::kFileNotFound));
}

}  // namespace
}  // namespace csi_proxy::machine::simulated
