// Occasional, undocumented behaviour of Windows must not make drivers' calls fail.
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "csi_proxy/steady_time.h"
#include "gmock/gmock.h"
#include "server/groups/odd_windows_testing.h"
#include "server/machine/layouts.h"
#include "server/names/win32_error.h"

namespace csi_proxy::groups {
namespace {

using machine::DeviceAccess;
using testing::HasSubstr;

class OddWindowsTest : public StrictDiskTest {
 protected:
  OddWindowsTest() {
    auto os = std::make_unique<InterruptedOs>(*node_);
    os_ = os.get();
    Use(machine::simulator::wmi::NewSimulatedSession(node_->core()), std::move(os));
  }
  void Use(std::unique_ptr<cim::Session> wmi, std::unique_ptr<machine::Os> os) {
    host_ = std::make_unique<host::Host>(
        std::move(wmi), std::move(os),
        [this](absl::string_view line) { warnings_.emplace_back(line); });
    deps_.host = host_.get();
    Remake();
  }

  // Mounts the volume of disk 1 at `m`, makes the disk and the file system read-only, and returns
  // the volume.
  std::string ReadOnlyVolume() {
    const std::string volume = Volume(1);
    EXPECT_TRUE(Mkdir(Below("m")).ok());
    EXPECT_TRUE(Mount(volume, Below("m")).ok());
    Change([](NodeState& state) {
      state.disks[1].read_only = true;
      state.disks[1].partitions[1].mounted_read_only = true;
    });
    EXPECT_FALSE(WriteAt(Below("m")).ok());
    return volume;
  }
  // After the disk's read-only flag is cleared, lets the volume of disk 1 disappear before the
  // second listing, and come back 300 ms later.
  void GoAfterOneLook() {
    os_->before_control = [this](uint32_t code, DeviceAccess) {
      if (code == machine::control::kSetDiskAttributes) looks_ = 0;
      return 0;
    };
    os_->before_list = [this] {
      if (!looks_.has_value() || ++*looks_ != 2) return;
      Change([](NodeState& state) {
        state.disks[1].partitions[1].arrives_at = SteadyTime::Now() + absl::Milliseconds(300);
        state.disks[1].partitions[1].mounted_read_only = false;
      });
    };
  }

  InterruptedOs* os_ = nullptr;
  std::optional<int> looks_;
};

TEST_F(OddWindowsTest, SetDiskStateWaitsForVolumesThatVanishAfterReadOnlyIsCleared) {
  const std::string volume = ReadOnlyVolume();
  GoAfterOneLook();
  ASSERT_TRUE(SetOnline(1, true).ok());
  EXPECT_GE(looks_.value_or(0), 2);
  EXPECT_EQ(Volumes(1), std::vector<std::string>{volume});
  EXPECT_TRUE(WriteAt(Below("m")).ok());
}

TEST_F(OddWindowsTest, StageVolumeWaitsForVolumesThatVanishAfterReadOnlyIsCleared) {
  const std::string volume = ReadOnlyVolume();
  GoAfterOneLook();
  const auto staged =
      storage_->StageVolume(context_, {.disk = {.number = "1"}, .target_path = Below("m")});
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->volume_id, volume);
  EXPECT_EQ(Volumes(1), std::vector<std::string>{volume});
  EXPECT_TRUE(WriteAt(Below("m")).ok());
}

TEST_F(OddWindowsTest, SetDiskStateWaitsUntilVolumesThatVanishedHaveReturned) {
  const std::string volume = ReadOnlyVolume();
  Behave([](Behaviour& behaviour) { behaviour.clearing_read_only_remounts = true; });
  ASSERT_TRUE(SetOnline(1, true).ok());
  EXPECT_EQ(Volumes(1), std::vector<std::string>{volume});
  EXPECT_TRUE(WriteAt(Below("m")).ok());
}

// The disk loses its number before its flag is cleared, or before its volumes are remounted.
TEST_F(OddWindowsTest, ADiskThatComesOnlineMakesNoOtherDiskWritable) {
  for (const int right_numbers : {0, 1}) {
    node_->Reset();
    os_->right_numbers = std::numeric_limits<int>::max();
    ReadOnlyVolume();
    ASSERT_TRUE(SetOnline(1, false).ok());
    Behave([](Behaviour& behaviour) { behaviour.online_makes_read_only = true; });
    os_->right_numbers = right_numbers;
    const absl::Status failed = SetOnline(1, true);
    EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
    EXPECT_EQ(DiskNow(1).read_only, right_numbers == 0);
    EXPECT_TRUE(DiskNow(1).partitions.back().mounted_read_only);
  }
}

TEST_F(OddWindowsTest, AWriteProtectedVolumeIsDismountedByAReadOnlyHandle) {
  for (const uint32_t error : {win32_error::kWriteProtect, win32_error::kAccessDenied}) {
    node_->Reset();
    ReadOnlyVolume();
    os_->before_control = [error](uint32_t code, DeviceAccess access) {
      const bool is_refused =
          code == machine::control::kDismountVolume && access == DeviceAccess::kReadWrite;
      return is_refused ? error : 0;
    };
    ASSERT_TRUE(SetOnline(1, true).ok());
    EXPECT_TRUE(WriteAt(Below("m")).ok()) << error;
  }
}

// A flush of a read-only file system has no data to write, so its success does not prove that the
// file system is writable.
TEST_F(OddWindowsTest, AReadOnlyFileSystemIsRemountedEvenIfItsFlushSucceeds) {
  ReadOnlyVolume();
  os_->flushes_anything = true;
  ASSERT_TRUE(SetOnline(1, true).ok());
  EXPECT_TRUE(WriteAt(Below("m")).ok());
}

// Without the remount the file system would continue to write, and every write would fail.
TEST_F(OddWindowsTest, AFileSystemIsRemountedAfterItsDiskIsMadeReadOnly) {
  Volume(1);
  const auto set = [&] {
    return storage_->SetDiskReadOnly(context_, {.disk_number = 1, .read_only = true}).status();
  };
  ASSERT_TRUE(set().ok());
  EXPECT_TRUE(DiskNow(1).partitions[1].mounted_read_only);
  // The dismount fails after the flag was set.
  node_->Reset();
  Volume(1);
  os_->before_control = [](uint32_t code, DeviceAccess) -> uint32_t {
    return code == machine::control::kDismountVolume ? 1117 : 0;
  };
  EXPECT_THAT(std::string(set().message()),
              HasSubstr("making disk 1 read-only: dismounting volume "));
  EXPECT_TRUE(DiskNow(1).read_only);
}

// WMI may not know a disk that has just arrived, such as a snapshot's copy.
TEST_F(OddWindowsTest, ADiskUnknownToWmiIsSearchedAgainAfterARescan) {
  Use(std::make_unique<ForgetfulSession>(node_->core()),
      machine::simulator::NewSimulatedOs(node_->core()));
  const absl::Status partitioned = Partition(1);
  EXPECT_TRUE(partitioned.ok()) << partitioned;
  // A call for a disk that does not exist makes no rescan.
  const auto asked = node_->CountCalls().wmi_calls;
  EXPECT_TRUE(absl::IsNotFound(Partition(77)));
  EXPECT_EQ(node_->CountCalls().wmi_calls - asked, 1);
}

// bindflt refuses to open entries at random: github.com/microsoft/Windows-Containers/issues/635.
TEST_F(OddWindowsTest, AnOpenThatFailsOnceIsRepeated) {
  const auto refuse = [&](const std::string& operation, const std::string& path, uint32_t times) {
    Fail(operation, times, win32_error::kInvalidParameter, path);
  };
  const std::string made = Below("made");
  refuse("win32.Open", R"(C:\var)", 1);
  EXPECT_TRUE(Mkdir(made).ok());
  refuse("win32.CreateDirectory", Below("again"), 1);
  EXPECT_TRUE(Mkdir(Below("again")).ok());
  refuse("win32.OpenBelow", made, 1);
  EXPECT_TRUE(Exists(made));
  refuse("win32.Open", made, 1);
  EXPECT_TRUE(Rmdir(made).ok());
  refuse("win32.Open", Below("plugins"), 1);
  EXPECT_TRUE(storage_->ListMounts(context_, {}).ok());
  EXPECT_TRUE(node_->Snapshot().faults.empty()) << "all struck";
  // The call fails if the error persists.
  refuse("win32.Open", R"(C:\var)", 0);
  EXPECT_FALSE(Mkdir(made).ok());
}

// A query may fail with MSFT_SoftError_*. Objects that it could not read must not count as absent.
TEST_F(OddWindowsTest, AFailedQueryIsAnErrorAndNotAnEmptyAnswer) {
  for (const uint32_t error : {40001, 40003, 40006}) {
    Inject("wmi.Query/*", error, 0);
    EXPECT_FALSE(storage_->ListDisks(context_, {}).ok());
    EXPECT_FALSE(disk_->ListDiskIDs(context_, {}).ok());
    EXPECT_FALSE(Partition(1).ok());
    EXPECT_FALSE(
        volume_->ListVolumesOnDisk(context_, {.disk_number = 1, .partition_number = 1}).ok());
    node_->ClearFaults();
  }
}

}  // namespace
}  // namespace csi_proxy::groups
