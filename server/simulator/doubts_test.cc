// Shows, doubt by doubt, that the simulated machine behaves as server/host/doubts.md says that
// Windows does. The tests call the machine through Win32 and WMI, as the host does.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "server/machine/layouts.h"
#include "server/names/win32_error.h"
#include "server/simulator/storage.h"
#include "server/simulator/win32/testing.h"
#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using machine::Bytes;
using machine::DeviceAccess;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
namespace control = machine::control;

constexpr char kMore[] = R"(
  disk { number: 4 size_bytes: 1073741824 style: MBR }
  smb_server {
    name: "files" user { name: "DOM\\user" password: "p" } share { name: "data" }
    share { name: "more" }
  }
  iscsi_portal {
    address: "10.0.0.5" target { iqn: "iqn.open" disk { number: 10 size_bytes: 1073741824 } }
  }
  service { name: "MSiSCSI" start_type: MANUAL state: RUNNING }
)";
constexpr char kFolder[] = R"(C:\var\lib\kubelet\pods\p1\)";
const cim::Arguments kMaximum = {{"UseMaximumSize", Value::Boolean(true)}};

class DoubtsTest : public WmiTest {
 protected:
  DoubtsTest() : WmiTest(kMore), os_(NewSimulatedOs(node_->core())) {}

  void Change(const std::function<void(NodeState&)>& change) { node_->core()->Change(change); }
  // Makes one call of `operation` on `resource` wait for `latency`, and then fail with `code`
  // unless `code` is 0.
  void Inject(const char* operation, const char* resource, uint32_t code, absl::Duration latency) {
    FaultRule rule;
    rule.operation = operation;
    rule.resource = resource;
    rule.times = 1;
    rule.latency = latency;
    rule.code = code == 0 ? absl::StatusCode::kOk : kInternal;
    rule.error.code = code;
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
  }

  static std::string DeviceOf(const VolumeId& volume) {
    return volume.ToString().substr(0, volume.ToString().size() - 1);
  }
  absl::StatusOr<Bytes> Control(const std::string& device, uint32_t code, DeviceAccess access,
                                const Bytes& input = {}) {
    return os_->Control(device, access, code, input, machine::kMaxExtents);
  }
  // Makes a volume on a disk and returns its object.
  cim::Object NewVolume(uint32_t disk, const cim::Arguments& arguments = kMaximum) {
    EXPECT_THAT(Invoke(Disk(disk), "CreatePartition", arguments), Returns(0));
    return Volume(node_->Snapshot().disks[disk].partitions.back().volume->id);
  }
  static VolumeId IdOf(const cim::Object& volume) {
    return *VolumeId::Parse(*volume.GetString("UniqueId"));
  }
  absl::StatusOr<cim::MethodResult> NewPortal() {
    return InvokeStatic("MSFT_iSCSITargetPortal", "New",
                        {{"TargetPortalAddress", Value::String("10.0.0.5")}});
  }

  const std::unique_ptr<machine::Os> os_;
};

// The double is stricter: an NVMe disk's location may end with the adapter, as Azure's and Google's
// do, and the location of a virtual disk in a file is the file's path.
TEST_F(DoubtsTest, D01ALocationNamesAdapterPortTargetAndLun) {
  constexpr uint32_t kNvme = 17;
  constexpr uint32_t kFileBackedVirtual = 15;
  int whole = 0;
  for (const NamedScenario& scenario : NamedScenarios()) {
    if (scenario.name == "default") continue;  // The default node is like no cloud.
    const auto node = LoadScenario(scenario.name, "test");
    ASSERT_THAT(node, IsOk());
    const auto disks =
        NewSimulatedSession((*node)->core())->Query(context_, kStorage, Query("MSFT_Disk"));
    ASSERT_THAT(disks, IsOk());
    for (const cim::Object& disk : *disks) {
      const std::string location = *disk.GetString("Location");
      const uint32_t bus = *disk.GetUint32("BusType");
      if (bus == kFileBackedVirtual) continue;
      EXPECT_TRUE(absl::StrContains(location, " : Adapter ")) << scenario.name << ": " << location;
      if (bus == kNvme && !absl::StrContains(location, " : Port ")) continue;
      for (const char* part : {" : Port ", " : Target ", " : LUN "}) {
        EXPECT_TRUE(absl::StrContains(location, part)) << scenario.name << ": " << location;
      }
      ++whole;
    }
  }
  EXPECT_GT(whole, 10);
}

// The double returns 40003 only if a fault rule says so.
TEST_F(DoubtsTest, D02ARefusedMethodSucceedsAfterTheCacheIsUpdated) {
  Inject("wmi.Invoke/MSFT_Disk.Refresh", "2", cim::kCacheOutOfDate, absl::ZeroDuration());
  EXPECT_THAT(Invoke(Disk(2), "Refresh"), Returns(cim::kCacheOutOfDate));
  EXPECT_THAT(InvokeStatic("MSFT_StorageSetting", "UpdateHostStorageCache"), Returns(0));
  EXPECT_THAT(Invoke(Disk(2), "Refresh"), Returns(0));
}

TEST_F(DoubtsTest, D05InitializeMakesAReservedPartitionAndCreatePartitionNeedsNoLetter) {
  ASSERT_THAT(Invoke(Disk(1), "Initialize", {{"PartitionStyle", Value::Uint16(2)}}), Returns(0));
  EXPECT_THAT(Partition(1, 1).GetString("GptType"),
              Yields("{e3c9e316-0b5c-4db8-817d-f92df00215ae}"));
  const VolumeId volume = IdOf(NewVolume(1));
  EXPECT_THAT(*os_->ListMountPoints(volume.ToString()), IsEmpty());
}

TEST_F(DoubtsTest, D09TheVersionOfSetDiskAttributesIsTheSizeOfTheStructure) {
  Bytes request = machine::ClearReadOnlyRequest();
  ASSERT_EQ(request[0], 40);
  const std::string disk = *Disk(1).GetString("Path");
  const uint32_t code = control::kSetDiskAttributes;
  EXPECT_THAT(Control(disk, code, DeviceAccess::kReadWrite, request), IsOk());
  request[0] = 16;
  EXPECT_THAT(Control(disk, code, DeviceAccess::kReadWrite, request),
              FailsWithWin32(win32_error::kInvalidParameter));
}

// server/host/resize_volume.cc computes the same size from the disk's size, less the second
// partition table.
TEST_F(DoubtsTest, D10ResizeNeedsNoServiceAndReachesTheEndOfTheFreeSpace) {
  constexpr uint64_t kGptCopy = 33 * 4096;
  EXPECT_THAT(os_->GetService("defragsvc"), FailsWithWin32(win32_error::kServiceDoesNotExist));
  const uint64_t room =
      *Disk(2).GetUint64("Size") - kGptCopy - *Partition(2, 1).GetUint64("Offset");
  const uint64_t size = room / kMiB * kMiB;
  ASSERT_GT(size, *Partition(2, 1).GetUint64("Size"));
  const auto resize = [&](uint64_t bytes) {
    return Invoke(Partition(2, 1), "Resize", {{"Size", Value::Uint64(bytes)}});
  };
  EXPECT_THAT(resize(size + kMiB), Returns(cim::kSizeNotSupported));
  EXPECT_THAT(resize(size), Returns(0));
  EXPECT_THAT(Partition(2, 1).GetUint64("Size"), Yields(size));
}

TEST_F(DoubtsTest, D12AMountedDiskGoesOfflineAndItsMountCanThenBeRemoved) {
  const std::string volume = TestVolume(2).ToString();
  ASSERT_THAT(os_->SetMountPoint(kFolder, volume), IsOk());
  EXPECT_THAT(Invoke(Disk(2), "Offline"), Returns(0));
  EXPECT_THAT(os_->GetFileSystem(volume), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->DeleteMountPoint(kFolder), IsOk());
  ASSERT_THAT(Invoke(Disk(2), "Online"), Returns(0));
  EXPECT_THAT(*os_->ListMountPoints(volume), IsEmpty());
}

// Compares a disk's serial number with the scenario, because only WMI shows the number of a disk.
TEST_F(DoubtsTest, D17WmiAndWin32ReportTheSameSizesAndSerialNumbers) {
  const auto disks = All(Query("MSFT_Disk"));
  ASSERT_THAT(*disks, SizeIs(node_->Snapshot().disks.size()));
  for (const cim::Object& disk : *disks) {
    const auto length = Control(*disk.GetString("Path"), control::kGetLength, DeviceAccess::kRead);
    ASSERT_THAT(length, IsOk());
    EXPECT_EQ(machine::ParseLength(*length).value(), *disk.GetUint64("Size"));
  }
  EXPECT_THAT(Disk(1).GetString("SerialNumber"), Yields("S1"));
  EXPECT_EQ(machine::ParseSystemSerialNumber(*os_->GetSmbiosTable()).value(),
            *One(Query("Win32_BIOS"), kCimV2).GetString("SerialNumber"));
}

TEST_F(DoubtsTest, D21ANewVolumeArrivesWithinHalfASecondAndWmiShowsItAfterRefresh) {
  const absl::Duration arrival =
      (*LoadScenario("default", "test"))->Snapshot().volume_arrival_delay;
  EXPECT_GT(arrival, absl::ZeroDuration());
  EXPECT_LE(arrival, absl::Milliseconds(500));
  Change([&](NodeState& state) {
    state.volume_arrival_delay = arrival;
    state.behaviour.volume_cache_delay = absl::Hours(1);
  });
  const size_t before = os_->ListVolumes()->size();
  ASSERT_THAT(Invoke(Disk(1), "Initialize"), Returns(0));
  ASSERT_THAT(Invoke(Disk(1), "CreatePartition", kMaximum), Returns(0));
  const auto layout = machine::ParseDriveLayout(
      *Control(*Disk(1).GetString("Path"), control::kGetDriveLayout, DeviceAccess::kRead));
  ASSERT_THAT(layout, IsOk());
  const auto promised = std::count_if(layout->begin(), layout->end(),
                                      [](const auto& entry) { return entry.holds_volume; });
  EXPECT_EQ(promised, 1);
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (os_->ListVolumes()->size() == before && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  ASSERT_EQ(os_->ListVolumes()->size(), before + 1);
  const Query query =
      Query("MSFT_Volume").Where("UniqueId", Value::String(os_->ListVolumes()->at(1)));
  EXPECT_THAT(*All(query), IsEmpty());
  EXPECT_THAT(Invoke(Disk(1), "Refresh"), Returns(0));
  EXPECT_THAT(*All(query), SizeIs(1));
}

TEST_F(DoubtsTest, D23AHandleWithoutRightsIsEnoughForQueries) {
  const std::string disk = *Disk(2).GetString("Path");
  const std::string volume = DeviceOf(TestVolume(2));
  for (const uint32_t code :
       {control::kGetDeviceNumber, control::kGetDiskAttributes, control::kGetScsiAddress}) {
    EXPECT_THAT(Control(disk, code, DeviceAccess::kNone), IsOk()) << code;
  }
  EXPECT_THAT(Control(disk, control::kQueryProperty, DeviceAccess::kNone, machine::DeviceIdQuery()),
              IsOk());
  for (const uint32_t code : {control::kGetDeviceNumber, control::kGetVolumeDiskExtents}) {
    EXPECT_THAT(Control(volume, code, DeviceAccess::kNone), IsOk()) << code;
  }
}

TEST_F(DoubtsTest, D26AfterACacheUpdateEveryDiskIsAnMsftDiskWithANumber) {
  simulator::Disk disk = RawDisk(kGiB);
  disk.awaits_rescan = true;
  ASSERT_THAT(node_->AttachDisk(disk, 9), IsOk());
  const size_t disks = node_->Snapshot().disks.size();
  EXPECT_THAT(*All(Query("MSFT_Disk")), SizeIs(disks - 1));
  ASSERT_THAT(InvokeStatic("MSFT_StorageSetting", "UpdateHostStorageCache"), Returns(0));
  const auto shown = All(Query("MSFT_Disk"));
  EXPECT_THAT(*shown, SizeIs(disks));
  for (const cim::Object& each : *shown) EXPECT_TRUE(each.Has("Number"));
}

TEST_F(DoubtsTest, D28AReadOnlyFlagClearedOnAnOfflineDiskStaysCleared) {
  ASSERT_THAT(Disk(3).GetBoolean("IsReadOnly"), Yields(true));
  ASSERT_THAT(Disk(3).GetBoolean("IsOffline"), Yields(true));
  ASSERT_THAT(Control(*Disk(3).GetString("Path"), control::kSetDiskAttributes,
                      DeviceAccess::kReadWrite, machine::ClearReadOnlyRequest()),
              IsOk());
  ASSERT_THAT(Invoke(Disk(3), "Online"), Returns(0));
  EXPECT_THAT(Disk(3).GetBoolean("IsReadOnly"), Yields(false));
}

TEST_F(DoubtsTest, D29AReadWriteHandleCanDismountAWriteProtectedVolume) {
  Change([](NodeState& state) { state.disks[2].read_only = true; });
  EXPECT_FALSE(os_->GetFileSystem(TestVolume(2).ToString())->read_only);
  EXPECT_THAT(Control(DeviceOf(TestVolume(2)), control::kDismountVolume, DeviceAccess::kReadWrite),
              IsOk());
  EXPECT_TRUE(os_->GetFileSystem(TestVolume(2).ToString())->read_only) << "it is mounted anew";
}

TEST_F(DoubtsTest, D32AnMbrDiskIsPartitionedFormattedAndResizedLikeAGptDisk) {
  const cim::Object volume =
      NewVolume(4, {{"UseMaximumSize", Value::Boolean(true)}, {"MbrType", Value::Uint16(7)}});
  EXPECT_THAT(Invoke(volume, "Format", {{"FileSystem", Value::String("NTFS")}}), Returns(0));
  ASSERT_THAT(node_->GrowDisk(4, 2 * kGiB), IsOk());
  ASSERT_THAT(InvokeStatic("MSFT_StorageSetting", "UpdateHostStorageCache"), Returns(0));
  const uint64_t size = kGiB + 512 * kMiB;
  EXPECT_THAT(Invoke(Partition(4, 1), "Resize", {{"Size", Value::Uint64(size)}}), Returns(0));
  EXPECT_THAT(Volume(IdOf(volume)).GetUint64("Size"), Yields(size));
}

TEST_F(DoubtsTest, D38TheSecondOfTwoCopiesIsOfflineByCollision) {
  simulator::Disk copy = RawDisk(kGiB);
  ASSERT_THAT(node_->CopyDisk(2, &copy), IsOk());
  const auto number = node_->AttachDisk(copy);
  ASSERT_THAT(number, IsOk());
  EXPECT_THAT(Disk(*number).GetBoolean("IsOffline"), Yields(true));
  EXPECT_THAT(Disk(*number).GetUint32("OfflineReason"), Yields(4U));
  EXPECT_THAT(Disk(2).GetBoolean("IsOffline"), Yields(false));
}

TEST_F(DoubtsTest, D39AnRefsVolumeCanBeFormattedAndReportsThatItIsNotDirty) {
  ASSERT_THAT(Invoke(Disk(1), "Initialize"), Returns(0));
  const cim::Object volume = NewVolume(1);
  EXPECT_THAT(Invoke(volume, "Format", {{"FileSystem", Value::String("ReFS")}}), Returns(0));
  EXPECT_EQ(os_->GetFileSystem(IdOf(volume).ToString())->name, "ReFS");
  const auto dirty = Control(DeviceOf(IdOf(volume)), control::kIsVolumeDirty, DeviceAccess::kRead);
  ASSERT_THAT(dirty, IsOk());
  EXPECT_THAT(machine::ParseIsDirty(*dirty), Yields(false));
}

TEST_F(DoubtsTest, D41AMethodRunsWhileAnotherDisksMethodIsSlow) {
  Inject("wmi.Invoke/MSFT_Disk.Refresh", "2", 0, absl::Hours(1));
  const std::string slow = Disk(2).path();
  const std::string other = Disk(0).path();
  const int64_t calls = node_->CountCalls().wmi_calls;
  absl::Notification cancelled;
  const CallContext abandoned(absl::InfiniteFuture(), &cancelled);
  std::thread caller([&] {
    EXPECT_THAT(session_->Invoke(abandoned, kStorage, slow, "Refresh"),
                HasCode(absl::StatusCode::kCancelled));
  });
  const CallContext patient(absl::Now() + absl::Minutes(1));
  while (node_->CountCalls().wmi_calls == calls && patient.Check().ok()) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_THAT(session_->Invoke(patient, kStorage, other, "Refresh"), Returns(0));
  cancelled.Notify();
  caller.join();
}

// The double is stricter: only paths that are too long without `\\?\` may begin with `\\?\C:\`.
TEST_F(DoubtsTest, D22VerbatimPathsOf260CharactersOrMoreCanBeMountedAndUnmounted) {
  const std::string deep = std::string(120, 'a') + "\\" + std::string(140, 'b') + "\\";
  ASSERT_THAT(node_->MakeDirectory("C:\\" + deep), IsOk());
  for (const std::string& root : {std::string(R"(\\?\C:\)"), TestVolume(1).ToString()}) {
    EXPECT_THAT(os_->SetMountPoint(root + deep, TestVolume(2).ToString()), IsOk()) << root;
    EXPECT_THAT(os_->DeleteMountPoint(root + deep), IsOk()) << root;
  }
  EXPECT_THAT(os_->SetMountPoint(R"(\\?\)" + std::string(kFolder), TestVolume(2).ToString()),
              FailsWithWin32(win32_error::kInvalidParameter));
}

TEST_F(DoubtsTest, D24OnlyTheCurrentMountFoldersOfAVolumeAreListed) {
  const std::string other = R"(C:\var\lib\kubelet-evil\)";
  const std::string volume = TestVolume(2).ToString();
  for (const std::string& folder : {std::string(kFolder), other}) {
    ASSERT_THAT(os_->SetMountPoint(folder, volume), IsOk());
  }
  EXPECT_THAT(*os_->ListMountPoints(volume), UnorderedElementsAre(kFolder, other));
  ASSERT_THAT(Invoke(Disk(2), "Offline"), Returns(0));
  ASSERT_THAT(os_->DeleteMountPoint(other), IsOk());
  ASSERT_THAT(Invoke(Disk(2), "Online"), Returns(0));
  EXPECT_THAT(*os_->ListMountPoints(volume), UnorderedElementsAre(kFolder));
  // A folder in a mounted volume has the names of the mount.
  Change([](NodeState& state) {
    Tree& tree = state.disks[2].partitions[0].volume->tree;
    tree.SetMounted(*tree.Add(Tree::kRoot, Tree::Directory("d")), TestVolume(1));
  });
  EXPECT_THAT(*os_->ListMountPoints(TestVolume(1).ToString()),
              UnorderedElementsAre("C:\\", absl::StrCat(kFolder, "d\\")));
}

TEST_F(DoubtsTest, D67QueriesOfADetachedDisksVolumeFailAsForAMissingDevice) {
  const std::string volume = TestVolume(2).ToString();
  const auto root = os_->OpenRoot(volume);
  ASSERT_THAT(root, IsOk());
  ASSERT_THAT(node_->DetachDisk(2), IsOk());
  const std::vector<absl::Status> answers = {
      os_->GetFileSystem(volume).status(),
      os_->GetSpace(volume).status(),
      os_->Flush(volume),
      os_->OpenRoot(volume).status(),
      os_->ListMountPoints(volume).status(),
      Control(DeviceOf(TestVolume(2)), control::kGetVolumeDiskExtents, DeviceAccess::kNone)
          .status(),
      os_->Read(DeviceOf(TestVolume(2)), 0, 512).status(),
      (*root)->List().status()};
  for (const absl::Status& answer : answers) {
    EXPECT_THAT(Win32CodeOf(answer).value_or(0), testing::AnyOf(2, 3, 21, 55, 433, 1167)) << answer;
  }
}

TEST_F(DoubtsTest, D20ConnectShowsTheTargetsDisksAndASessionCanBeRegisteredAgain) {
  ASSERT_THAT(NewPortal(), Returns(0));
  ASSERT_THAT(InvokeStatic("MSFT_iSCSITarget", "Connect",
                           {{"NodeAddress", Value::String("iqn.open")},
                            {"IsPersistent", Value::Boolean(true)}}),
              Returns(0));
  const auto connections =
      session_->Associators(context_, kStorage, One(Query("MSFT_iSCSITarget")).path(),
                            {"MSFT_iSCSITargetToiSCSIConnection", "MSFT_iSCSIConnection",
                             "iSCSIConnection", "iSCSITarget"});
  ASSERT_THAT(*connections, SizeIs(1));
  const auto disks =
      session_->Associators(context_, kStorage, connections->front().path(),
                            {"MSFT_iSCSIConnectionToDisk", "MSFT_Disk", "Disk", "iSCSIConnection"});
  ASSERT_THAT(*disks, SizeIs(1));
  EXPECT_THAT(disks->front().GetUint32("Number"), Yields(10U));
  for (const auto& [method, persistent] : {std::pair("Unregister", false), {"Register", true}}) {
    EXPECT_THAT(Invoke(One(Query("MSFT_iSCSISession")), method), Returns(0));
    EXPECT_THAT(One(Query("MSFT_iSCSISession")).GetBoolean("IsPersistent"), Yields(persistent));
  }
}

TEST_F(DoubtsTest, D35AllMappingsAreListedWithTheStatesOfMsftSmbMapping) {
  for (const char* share : {R"(\\files\data)", R"(\\files\more)"}) {
    const cim::Arguments arguments = {{"RemotePath", Value::String(share)},
                                      {"Credential", Value::String(R"(DOM\\user:p)")}};
    ASSERT_THAT(InvokeStatic("MSFT_SmbGlobalMapping", "Create", arguments, kSmb), Returns(0));
  }
  for (const auto& [reachable, state] : {std::pair(true, 0U), {false, 2U}}) {
    ASSERT_THAT(node_->SetServerReachable("files", reachable), IsOk());
    const auto mappings = All(Query("MSFT_SmbGlobalMapping"), kSmb);
    ASSERT_THAT(*mappings, SizeIs(2));
    for (const cim::Object& mapping : *mappings) {
      EXPECT_THAT(mapping.GetUint32("Status"), Yields(state));
    }
  }
}

// The double returns no instances, and its methods return the error.
TEST_F(DoubtsTest, D04WithoutMsiscsiTheIscsiClassesReturnAnErrorOrNoInstances) {
  ASSERT_THAT(NewPortal(), Returns(0));
  EXPECT_THAT(*All(Query("MSFT_iSCSITargetPortal")), SizeIs(1));
  ASSERT_THAT(os_->StopService("MSiSCSI"), IsOk());
  EXPECT_THAT(*All(Query("MSFT_iSCSITargetPortal")), IsEmpty());
  EXPECT_THAT(NewPortal(), FailsWithHresult(0x80070000 | win32_error::kServiceNotActive));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator::wmi
