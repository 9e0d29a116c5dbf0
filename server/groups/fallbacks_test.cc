// A used fallback is counted once, and other fallbacks are not counted.
#include "server/base/fallbacks.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "gmock/gmock.h"
#include "server/groups/disk/bring_online.h"
#include "server/groups/odd_windows_testing.h"
#include "server/machine/layouts.h"

namespace csi_proxy::groups {
namespace {

using machine::DeviceAccess;
using machine::simulator::Disk;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class FallbackTest : public StrictDiskTest {
 protected:
  FallbackTest() {
    // Calls on this machine do not need fallbacks.
    Behave([](Behaviour& behaviour) { behaviour.mount_calls_share = true; });
    Change([](NodeState& state) {
      state.volume_arrival_delay = absl::ZeroDuration();
      for (Disk& disk : state.disks) disk.page83_error.reset();
    });
    auto os = std::make_unique<InterruptedOs>(*node_);
    os_ = os.get();
    Use(machine::simulator::wmi::NewSimulatedSession(node_->core()), std::move(os));
  }
  void Use(std::unique_ptr<cim::Session> wmi, std::unique_ptr<machine::Os> os) {
    host_ = std::make_unique<host::Host>(std::move(wmi), std::move(os));
    deps_.host = host_.get();
    Remake();
  }
  // Lets the next control call of this kind to a device fail.
  void Refuse(uint32_t code, uint32_t error) {
    os_->before_control = [code, error, refused = false](uint32_t asked, DeviceAccess) mutable {
      if (asked != code || std::exchange(refused, true)) return uint32_t{0};
      return error;
    };
  }
  void ChangeDisk(uint32_t number, const std::function<void(Disk&)>& change) {
    Change([&](NodeState& state) { change(state.disks[number]); });
  }

  // Returns the fallbacks that the failing call took, each with its count.
  static std::map<std::string, uint64_t> TakenInVain(absl::FunctionRef<absl::Status()> call) {
    return Taken([&] {
      EXPECT_FALSE(call().ok());
      return absl::OkStatus();
    });
  }
  // Returns the fallbacks that the call took, each with its count.
  static std::map<std::string, uint64_t> Taken(absl::FunctionRef<absl::Status()> call) {
    std::map<std::string, uint64_t> before;
    for (const FallbackFacts& facts : kFallbacks) {
      before[facts.name] = FallbackCount(facts.fallback);
    }
    const absl::Status status = call();
    EXPECT_TRUE(status.ok()) << status;
    std::map<std::string, uint64_t> taken;
    for (const FallbackFacts& facts : kFallbacks) {
      const uint64_t times = FallbackCount(facts.fallback) - before[facts.name];
      if (times != 0) taken[facts.name] = times;
    }
    return taken;
  }

  InterruptedOs* os_ = nullptr;
};

TEST_F(FallbackTest, AVolumesWholeLifeUsesNoFallbackOnTheExpectedWindows) {
  Behave([](Behaviour& behaviour) { behaviour.volume_cache_delay = absl::ZeroDuration(); });
  EXPECT_THAT(Taken([&] {
                const std::string volume = Volume(1);
                EXPECT_TRUE(Mkdir(Below("m")).ok());
                EXPECT_TRUE(Mount(volume, Below("m")).ok());
                EXPECT_TRUE(node_->GrowDisk(1, 20 * kGiB).ok());
                EXPECT_TRUE(Resize(volume, 0).ok());
                EXPECT_TRUE(storage_->ListMounts(context_, {}).ok());
                EXPECT_TRUE(storage_->ListDisks(context_, {}).ok());
                EXPECT_TRUE(Unmount(volume, Below("m")).ok());
                EXPECT_TRUE(SetOnline(1, false).ok());
                EXPECT_TRUE(SetOnline(1, true).ok());
                return Rmdir(Below("m"));
              }),
              IsEmpty());
}

TEST_F(FallbackTest, EachUnexpectedAnswerOfWmiAboutADiskIsCountedAsItsFallback) {
  const host::DiskDescription disk = *host_->disk().GetLayout(context_, 1);
  const host::DiskDescription other = *host_->disk().GetLayout(context_, 2);
  Inject("wmi.Invoke/MSFT_Disk.Initialize", 40006);
  EXPECT_THAT(Taken([&] { return host_->disk().InitializeGpt(context_, disk); }),
              ElementsAre(Pair("method-repeated", 1)));
  Fail("wmi.Invoke/MSFT_Disk.Initialize", 2, 40003);
  EXPECT_THAT(TakenInVain([&] { return host_->disk().InitializeGpt(context_, other); }),
              ElementsAre(Pair("method-refused-again", 1), Pair("method-repeated", 1)));
  Inject("wmi.Invoke/MSFT_Disk.CreatePartition", 42002);
  EXPECT_THAT(Taken([&] { return host_->disk().CreateBasicPartition(context_, disk); }),
              ElementsAre(Pair("partition-without-letter", 1)));
  ChangeDisk(2, [](Disk& disk) { disk.without_number = true; });
  EXPECT_THAT(Taken([&] { return disk_->ListDiskIDs(context_, {}).status(); }),
              ElementsAre(Pair("disk-without-number", 1)));
  ChangeDisk(2, [](Disk& disk) { disk.without_number = false; });
  Use(std::make_unique<ForgetfulSession>(node_->core()),
      machine::simulator::NewSimulatedOs(node_->core()));
  EXPECT_THAT(Taken([&] { return host_->disk().Describe(context_, 1).status(); }),
              ElementsAre(Pair("disk-unknown-to-wmi", 1)));
}

TEST_F(FallbackTest, EachUnexpectedAnswerOfADiskIsCountedAsItsFallback) {
  Refuse(machine::control::kQueryProperty, 5);
  EXPECT_THAT(Taken([&] { return disk_->ListDiskIDs(context_, {}).status(); }),
              ElementsAre(Pair("page83-from-wmi", 1)));
  // A disk that is not ready uses another fallback, because its error does not concern the handle's
  // rights.
  Refuse(machine::control::kQueryProperty, win32_error::kNotReady);
  EXPECT_THAT(Taken([&] { return disk_->ListDiskIDs(context_, {}).status(); }),
              ElementsAre(Pair("disk-does-not-answer", 1)));
  ChangeDisk(1, [](Disk& disk) {
    disk.facts.bus_type = 17;
    disk.facts.scsi_name = "vol02845b1c7d9e3f0a60001Amazon Elastic Block Store              1D0F";
  });
  EXPECT_THAT(Taken([&] { return storage_->ListDisks(context_, {}).status(); }),
              ElementsAre(Pair("namespace-reversed", 1)));
  ChangeDisk(1, [](Disk& disk) {
    disk.facts.scsi_name.clear();
    disk.facts.lun = 3;
    disk.location = "Adapter 4";
  });
  EXPECT_THAT(Taken([&] { return disk_->ListDiskLocations(context_, {}).status(); }), IsEmpty());
  Refuse(machine::control::kGetScsiAddress, 1);
  EXPECT_THAT(Taken([&] { return disk_->ListDiskLocations(context_, {}).status(); }),
              ElementsAre(Pair("azure-lun-unknown", 1)));
  Refuse(machine::control::kGetScsiAddress, win32_error::kNotReady);
  EXPECT_THAT(Taken([&] { return disk_->ListDiskLocations(context_, {}).status(); }),
              ElementsAre(Pair("disk-does-not-answer", 1)));
}

TEST_F(FallbackTest, UnexpectedErrorsWhenADiskGoesOnlineOrOfflineAreCountedAsFallbacks) {
  Volume(1);
  Inject("wmi.Invoke/MSFT_Disk.Offline", 6);
  EXPECT_THAT(Taken([&] {
                EXPECT_TRUE(absl::IsFailedPrecondition(SetOnline(1, false)));
                return absl::OkStatus();
              }),
              ElementsAre(Pair("disk-stays-online", 1)));
  // csi-proxy's own rule keeps Windows' disk online.
  EXPECT_THAT(Taken([&] {
                EXPECT_TRUE(absl::IsFailedPrecondition(SetOnline(0, false)));
                return absl::OkStatus();
              }),
              IsEmpty());
  Refuse(machine::control::kGetDriveLayout, 5);
  EXPECT_THAT(Taken([&] { return SetOnline(1, true); }), ElementsAre(Pair("layout-not-read", 1)));
  Refuse(machine::control::kGetDriveLayout, win32_error::kNotReady);
  EXPECT_THAT(Taken([&] { return SetOnline(1, true); }),
              ElementsAre(Pair("disk-does-not-answer", 1)));
  ASSERT_TRUE(SetOnline(1, false).ok());
  Behave([](Behaviour& behaviour) { behaviour.online_makes_read_only = true; });
  EXPECT_THAT(Taken([&] { return SetOnline(1, true); }),
              ElementsAre(Pair("read-only-after-online", 1)));
  Behave([](Behaviour& behaviour) { behaviour.online_makes_read_only = false; });
  Refuse(machine::control::kDismountVolume, 19);
  EXPECT_THAT(Taken([&] { return SetOnline(1, true); }), IsEmpty()) << "its volumes stay mounted";
  // A disk that another program made read-only is made writable on request.
  ChangeDisk(1, [](Disk& disk) {
    disk.read_only = true;
    disk.partitions[1].mounted_read_only = true;
  });
  Refuse(machine::control::kDismountVolume, 19);
  EXPECT_THAT(Taken([&] { return SetOnline(1, true); }),
              ElementsAre(Pair("dismount-by-reading", 1)));
}

TEST_F(FallbackTest, VolumesThatDoNotArriveAreCountedAsFallbacks) {
  Behave([](Behaviour& behaviour) { behaviour.automount_disabled = true; });
  EXPECT_THAT(Taken([&] { return Partition(1); }),
              ElementsAre(Pair("partitions-brought-online", 1)));
  // This call waits for ten seconds before it accepts one volume.
  EXPECT_THAT(Taken([&] { return disk::AwaitVolumes(*host_, context_, 1, 2, "online").status(); }),
              ElementsAre(Pair("fewer-volumes", 1), Pair("partitions-brought-online", 1)));
}

TEST_F(FallbackTest, AVolumeThatWmiShowsAfterARefreshIsNotCounted) {
  const std::string volume = Volume(1, false);
  EXPECT_THAT(
      Taken([&] { return volume_->FormatVolume(context_, {.volume_id = volume}).status(); }),
      IsEmpty())
      << "WMI shows the volume after the refresh of its disk";
}

TEST_F(FallbackTest, AFileSystemCalledRawIsCountedAsAFallback) {
  const std::string volume = Volume(1);
  ChangeDisk(1, [](Disk& disk) { disk.partitions[1].volume->file_system = "RAW"; });
  EXPECT_THAT(
      Taken([&] { return volume_->IsVolumeFormatted(context_, {.volume_id = volume}).status(); }),
      ElementsAre(Pair("file-system-raw", 1)));
}

TEST_F(FallbackTest, ARefusedGrowthIsCountedAsAFallback) {
  const std::string volume = Volume(1);
  const uint64_t full = Size(volume);
  ASSERT_TRUE(node_->GrowDisk(1, 20 * kGiB).ok());
  Refuse(machine::control::kUpdateDriveSize, 5);
  EXPECT_THAT(Taken([&] { return Resize(volume, full); }), IsEmpty()) << "nothing is asked";
  EXPECT_THAT(Taken([&] { return Resize(volume, 0); }), ElementsAre(Pair("size-not-updated", 1)));
  Refuse(machine::control::kUpdateDriveSize, win32_error::kIoDevice);
  EXPECT_THAT(Taken([&] { return Resize(volume, 0); }),
              ElementsAre(Pair("disk-does-not-answer", 1)));
  EXPECT_THAT(Taken([&] { return Resize(volume, full + kGiB); }), IsEmpty());
  Inject("wmi.Invoke/MSFT_Partition.Resize", 4097);
  EXPECT_THAT(Taken([&] { return Resize(volume, full + 2 * kGiB); }),
              ElementsAre(Pair("resize-repeated", 1)));
  Inject("wmi.Invoke/MSFT_Partition.Resize", 4);
  EXPECT_THAT(Taken([&] { return Resize(volume, full + 2 * kGiB + 20 * kMiB); }),
              ElementsAre(Pair("growth-given-up", 1)));
  // The volume has errors.
  Inject("wmi.Invoke/MSFT_Partition.Resize", 42008);
  EXPECT_THAT(Taken([&] { return Resize(volume, full + 2 * kGiB + 20 * kMiB); }),
              ElementsAre(Pair("growth-obstructed", 1)));
  // A resize fails if Windows refuses to grow the volume by 100 MiB or more.
  Inject("wmi.Invoke/MSFT_Partition.Resize", 42008);
  EXPECT_THAT(Taken([&] {
                EXPECT_FALSE(Resize(volume, full + 2 * kGiB + 100 * kMiB).ok());
                return absl::OkStatus();
              }),
              IsEmpty());
  Behave([](Behaviour& behaviour) { behaviour.resize_reserve_bytes = 8 * kMiB; });
  EXPECT_THAT(Taken([&] { return Resize(volume, 0); }),
              ElementsAre(Pair("resize-repeated", 1), Pair("windows-own-maximum", 1)));
}

TEST_F(FallbackTest, EachFallbackOfAMountOrUnmountIsCounted) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  Behave([](Behaviour& behaviour) { behaviour.mount_calls_share = false; });
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Taken([&] { return Mount(volume, Below("m")); }),
                ElementsAre(Pair("mount-directory-let-go", 1)));
    // End the first mount by UnmountVolume, the second by removing the folder.
    EXPECT_THAT(Taken([&] { return i == 0 ? Unmount(volume, Below("m")) : Rmdir(Below("m")); }),
                ElementsAre(Pair("mount-directory-let-go", 1)));
  }
  Behave([](Behaviour& behaviour) { behaviour.mount_calls_share = true; });
  const std::string deep = Below(std::string(150, 'd') + "\\" + std::string(150, 'e'));
  ASSERT_TRUE(Mkdir(deep).ok());
  EXPECT_THAT(Taken([&] {
                EXPECT_TRUE(Mount(volume, deep).ok());
                return Unmount(volume, deep);
              }),
              IsEmpty());
  Fail("win32.SetMountPoint", 1, win32_error::kInvalidName);
  EXPECT_THAT(TakenInVain([&] { return Mount(volume, deep); }),
              ElementsAre(Pair("verbatim-mount-path", 1)));
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(Mkdir(Below("n")).ok());
  ASSERT_TRUE(Mount(volume, Below("m")).ok());
  ASSERT_TRUE(Mount(volume, Below("n")).ok());
  Fail("win32.DeleteMountPoint", 1, win32_error::kGeneralFailure);
  EXPECT_THAT(Taken([&] { return Rmdir(Below("m")); }), ElementsAre(Pair("mount-not-ended", 1)));
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(Mount(volume, Below("m")).ok());
  ASSERT_TRUE(node_->DetachDisk(1).ok());
  Fail("win32.DeleteMountPoint", 0, 2);
  EXPECT_THAT(Taken([&] { return Unmount(volume, Below("m")); }),
              ElementsAre(Pair("mount-forgotten", 1)));
  EXPECT_THAT(Taken([&] { return Rmdir(Below("n")); }), ElementsAre(Pair("mount-forgotten", 1)));
}

TEST_F(FallbackTest, FoldersThatTheMountManagerNamesDifferentlyAreCountedAsFallbacks) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(node_->MakeDirectory(R"(C:\data\m)").ok());
  ASSERT_TRUE(node_->MakeLink(R"(C:\work)", R"(C:\data)").ok());
  deps_.roots = std::make_shared<const PathRoots>(
      std::vector<WindowsPath>{*WindowsPath::Parse("root", R"(C:\work)")});
  Remake();
  ASSERT_TRUE(Mount(volume, R"(C:\work\m)").ok());
  host::VolumeView view = {.id = *VolumeId::Parse(volume), .extents = {}};
  const auto points = [&] {
    return host_->volume().ReadMounts(context_, deps_.roots.get(), &view);
  };
  EXPECT_THAT(Taken(points), ElementsAre(Pair("folder-by-another-name", 1)));
  Behave([](Behaviour& behaviour) { behaviour.stale_mount_entries = true; });
  ASSERT_TRUE(SetOnline(1, false).ok());
  ASSERT_TRUE(Unmount(volume, R"(C:\work\m)").ok());
  ASSERT_TRUE(SetOnline(1, true).ok());
  EXPECT_THAT(Taken(points), ElementsAre(Pair("stale-mount-folder", 1)));
}

TEST_F(FallbackTest, AnOpenThatFailsOnceIsCountedAsAFallback) {
  Fail("win32.Open", 1, win32_error::kInvalidParameter, R"(C:\var)");
  EXPECT_THAT(Taken([&] { return Mkdir(Below("made")); }), ElementsAre(Pair("open-repeated", 1)));
}

TEST_F(FallbackTest, APortalThatCannotBeUpdatedIsCountedAsAFallback) {
  const iscsi::TargetPortal portal = {.target_address = "10.0.0.5", .target_port = 3260};
  const auto discover = [&] {
    return iscsi_->DiscoverTargetPortal(context_, {.target_portal = portal}).status();
  };
  ASSERT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal}).ok());
  Fail("wmi.Invoke/MSFT_iSCSITargetPortal.Update", 1, 0x80041001);
  EXPECT_THAT(Taken(discover), ElementsAre(Pair("portal-not-updated", 1)));
  Fail("wmi.Invoke/MSFT_iSCSITargetPortal.Update", 1, 0xEFFF0003);
  EXPECT_THAT(Taken(discover), ElementsAre(Pair("portal-refuses", 1)));
}

}  // namespace
}  // namespace csi_proxy::groups
