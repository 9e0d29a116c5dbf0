// Late changes of Windows, and junctions of a pod, must not harm another tenant's work.
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "server/groups/storage/crash_testing.h"

namespace csi_proxy::storage {
namespace {

using machine::simulator::Disk;
using machine::simulator::FaultRule;
using machine::simulator::Tree;

constexpr char kScenario[] = R"(
  behaviour { volume_cache_ms: 0 }
  disk { number: 0 size_bytes: 68719476736 style: GPT partition { size_bytes: 60000000000 volume {
    id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000000}\\" file_system: "NTFS" drive_letter: "C"
    file { path: "var\\lib\\kubelet\\pods\\a" }
    file { path: "var\\lib\\kubelet\\lun"
           mounted_volume_id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000002}\\" }
    file { path: "var\\lib\\kubelet\\new" } } } }
  disk { number: 1 size_bytes: 1073741824 style: GPT partition { size_bytes: 536870912 volume {
    id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000001}\\" file_system: "NTFS" } } }
  smb_server { name: "srv" user { name: "u" password: "old" } share { name: "data" } }
  iscsi_portal { address: "array.example" registered: true }
  iscsi_portal { address: "10.0.0.5" registered: true
    target { iqn: "iqn.2026-01.example:data" connected: true
      disk { number: 10 size_bytes: 1073741824 style: GPT bus_type: BUS_ISCSI
        location: "iSCSI : Adapter 1 : Port 0 : Target 0 : LUN 0"
        partition { size_bytes: 536870912 volume {
          id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000002}\\" file_system: "NTFS" } } } } }
)";
constexpr char kShare[] = R"(\\srv\data)";
constexpr char kVolume[] = R"(\\?\Volume{00000000-0000-0000-0000-000000000001}\)";
constexpr char kLunVolume[] = R"(\\?\Volume{00000000-0000-0000-0000-000000000002}\)";

std::string Below(const std::string& rest) { return R"(C:\var\lib\kubelet\)" + rest; }

std::unique_ptr<Machine> Node() {
  auto node = machine::simulator::LoadScenario(kScenario, "test");
  EXPECT_TRUE(node.ok()) << node.status();
  return *std::move(node);
}

machine::simulator::Volume& VictimsVolume(NodeState& state) {
  return *state.disks[1].partitions.back().volume;
}

// Makes a junction to a volume in the attacker's folder, as a program in the attacker's pod does.
// With `by_hand` false, the mount manager also records it.
void PlantJunction(Machine& node, const std::string& name, const std::string& volume,
                   bool by_hand = true) {
  node.core()->Change([&](NodeState& state) {
    Tree& tree = state.disks[0].partitions.back().volume->tree;
    Tree::Id at = Tree::kRoot;
    for (const char* part : {"var", "lib", "kubelet", "pods", "a"}) at = *tree.Find(at, part);
    const auto made = tree.Add(at, Tree::Directory(name));
    ASSERT_TRUE(made.ok()) << made.status();
    tree.SetMounted(*made, *VolumeId::Parse(volume), by_hand);
  });
}

absl::Status Format(Process& process) {
  return process.volume->FormatVolume({}, {.volume_id = kVolume}).status();
}

// The attacker has only the filesystem pipe. The victim has partitioned a disk and formats it next.
TEST(BetweenTenantsTest, AJunctionInAPodDoesNotMakeANewVolumeLookUsed) {
  const auto node = Node();
  node->core()->Change([](NodeState& state) { VictimsVolume(state).file_system = ""; });
  Process process(node.get());
  PlantJunction(*node, "j", kVolume);
  const auto files = filesystem::NewFilesystemService(process.deps);
  ASSERT_TRUE(files->Rmdir({}, {.path = Below("pods\\a\\j")}).ok());
  EXPECT_EQ(Format(process), absl::OkStatus());
  EXPECT_EQ(process.Stage({.number = "1"}).status(), absl::OkStatus());
}

// The victim's volume is mounted at `lun`. The mount manager does not list the junction.
TEST(BetweenTenantsTest, UnstagingAJunctionInAPodKeepsTheMountedDiskOnline) {
  for (const bool by_target : {false, true}) {
    SCOPED_TRACE(by_target);
    const auto node = Node();
    Process process(node.get());
    const std::string junction = Below("pods\\a\\j");
    PlantJunction(*node, "j", kLunVolume);
    const absl::Status unstaged =
        by_target
            ? process.storage
                  ->UnstageTarget({}, {.target_path = junction, .iqn = "iqn.2026-01.example:data"})
                  .status()
            : process.Unstage(junction).status();
    EXPECT_EQ(unstaged, absl::OkStatus());
    const auto target = node->Snapshot().iscsi_portals[1].targets[0];
    EXPECT_TRUE(target.connected);
    EXPECT_TRUE(target.disks[0].online);
  }
}

// A remount would close the victim's open files.
TEST(BetweenTenantsTest, StagingAtAJunctionInAPodDoesNotRemountAVolumeInUse) {
  const auto node = Node();
  const auto lun = [](NodeState& state) -> machine::simulator::DiskPartition& {
    return state.iscsi_portals[1].targets[0].disks[0].partitions.back();
  };
  node->core()->Change([&](NodeState& state) { lun(state).mounted_read_only = true; });
  Process process(node.get());
  PlantJunction(*node, "j", kLunVolume);
  EXPECT_EQ(process.Stage({.number = "10"}, Below("pods\\a\\j")).status(), absl::OkStatus());
  NodeState after = node->Snapshot();
  EXPECT_TRUE(lun(after).mounted_read_only);
}

// The attacker's folder contains junctions to volumes that do not exist. The attacker deletes them.
TEST(BetweenTenantsTest, JunctionsInAPodDoNotMakeTheServiceForgetAUsedVolume) {
  for (const bool attacks : {false, true}) {
    const auto node = Node();
    Process process(node.get());
    const auto formatted = process.volume->IsVolumeFormatted({}, {.volume_id = kVolume});
    ASSERT_TRUE(formatted.ok() && formatted->formatted);
    if (attacks) {
      for (int i = 0; i < 10'000; ++i) {
        PlantJunction(*node, absl::StrCat(i),
                      absl::StrFormat(R"(\\?\Volume{abababab-0000-0000-0000-%012d}\)", i));
      }
      const auto files = filesystem::NewFilesystemService(process.deps);
      EXPECT_EQ(files->RmdirContents({}, {.path = Below("pods\\a")}).status(), absl::OkStatus());
    }
    // The file system is lost, and all places that the service reads are zero.
    node->core()->Change([](NodeState& state) { VictimsVolume(state).file_system = ""; });
    EXPECT_TRUE(absl::IsFailedPrecondition(Format(process))) << attacks;
    EXPECT_TRUE(absl::IsFailedPrecondition(process.Stage({.number = "1"}).status())) << attacks;
    EXPECT_EQ(node->Snapshot().disks[1].partitions.back().volume->file_system, "") << attacks;
  }
}

absl::Status SetOnline(Process& process, bool online, absl::Duration limit) {
  return disk::NewDiskService(process.deps)
      ->SetDiskState(CallContext().WithTimeout(limit), {.disk_number = 1, .is_online = online})
      .status();
}

// A disk that a driver took offline, so that the cloud can detach it, stays offline.
TEST(BetweenTenantsTest, ALateOnlineCallDoesNotUndoALaterOfflineCall) {
  const auto node = Node();
  node->core()->Change([](NodeState& state) {
    state.disks[1].online = false;
    state.faults = {Late("wmi.Invoke/MSFT_Disk.Online")};
  });
  Process process(node.get());
  EXPECT_TRUE(absl::IsDeadlineExceeded(SetOnline(process, true, absl::Seconds(10))));
  EXPECT_EQ(SetOnline(process, false, absl::Minutes(2)), absl::OkStatus());
  LetLateChangesEnd();
  EXPECT_FALSE(node->Snapshot().disks[1].online);
}

// Windows may need a second Format after the caller has left. In between, an administrator may have
// prepared the volume by hand.
TEST(BetweenTenantsTest, ALateFormatIsNotRepeatedIfTheVolumeIsInUseByThen) {
  enum class ByHand { kNothing, kFormat, kMount };
  for (const ByHand by_hand : {ByHand::kNothing, ByHand::kFormat, ByHand::kMount}) {
    SCOPED_TRACE(static_cast<int>(by_hand));
    const auto node = Node();
    FaultRule late = Late("wmi.Invoke/MSFT_Volume.Format");
    late.goes_on = false;
    late.code = absl::StatusCode::kInternal;
    late.error = machine::simulator::KnownError(40003);
    node->core()->Change([&](NodeState& state) { state.faults = {late}; });
    Process process(node.get());
    EXPECT_TRUE(absl::IsDeadlineExceeded(
        process.storage
            ->FormatVolume(CallContext().WithTimeout(absl::Seconds(10)),
                           {.volume_id = kVolume, .file_system = "ReFS", .overwrite = true})
            .status()));
    if (by_hand == ByHand::kFormat) {
      node->core()->Change([](NodeState& state) { VictimsVolume(state).file_system = "FAT32"; });
    } else if (by_hand == ByHand::kMount) {
      PlantJunction(*node, "mount", kVolume, false);
    }
    LetLateChangesEnd();
    EXPECT_TRUE(node->Snapshot().faults.empty());
    EXPECT_EQ(node->Snapshot().disks[1].partitions.back().volume->file_system,
              by_hand == ByHand::kNothing ? "ReFS"
              : by_hand == ByHand::kMount ? "NTFS"
                                          : "FAT32");
  }
}

// The kubelet's folder is on a data disk. All pods would lose their volumes with the disk.
TEST(BetweenTenantsTest, UnstageVolumeAtTheKubeletsOwnMountKeepsItsDiskOnline) {
  const auto node = Node();
  Process process(node.get());
  const std::string plugins = Below("plugins");
  ASSERT_TRUE(filesystem::NewFilesystemService(process.deps)->Mkdir({}, {.path = plugins}).ok());
  ASSERT_TRUE(process.volume->MountVolume({}, {kVolume, plugins}).ok());
  const absl::Status unstaged = process.Unstage(plugins).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(unstaged)) << unstaged;
  EXPECT_TRUE(node->Snapshot().disks[1].online);
}

// A hostile driver turns a link on the way from the kubelet's folder to its own, in which it has
// made a junction to the same volume.
TEST(BetweenTenantsTest, UnstageVolumeByALinkThatTurnsKeepsTheKubeletsDiskOnline) {
  // The link turns before each of the calls in turn.
  for (int at = 1; at <= 80; ++at) {
    const auto node = Node();
    Process process(node.get());
    const std::string plugins = Below("plugins"), way = Below("new\\way");
    ASSERT_TRUE(filesystem::NewFilesystemService(process.deps)->Mkdir({}, {.path = plugins}).ok());
    ASSERT_TRUE(process.volume->MountVolume({}, {kVolume, plugins}).ok());
    PlantJunction(*node, "plugins", kVolume);
    ASSERT_TRUE(node->MakeLink(way, R"(C:\var\lib\kubelet)", true).ok());
    const int first = process.life.calls();
    process.life.before_call = [&](int call) {
      if (call != first + at || !node->RemoveFolder(way).ok()) return;
      EXPECT_TRUE(node->MakeLink(way, Below("pods\\a"), true).ok());
    };
    (void)process.Unstage(way + "\\plugins");
    ASSERT_TRUE(node->Snapshot().disks[1].online) << at;
  }
}

// The disk's volume was formatted after the handler had found it blank.
TEST(BetweenTenantsTest, AFormatKeepsAFileSystemThatWasMadeAfterTheLook) {
  const auto node = Node();
  node->core()->Change([](NodeState& state) {
    VictimsVolume(state).file_system = "";
    FaultRule first;
    first.operation = "win32.Read";
    first.times = 1;
    first.latency = absl::Milliseconds(1);
    state.faults = {first};
  });
  Process process(node.get());
  process.life.before_call = [&](int) {
    node->core()->Change([](NodeState& state) {
      if (state.faults.empty()) VictimsVolume(state).file_system = "FAT32";
    });
  };
  const absl::Status formatted =
      process.storage->FormatVolume({}, {.volume_id = kVolume, .file_system = "ReFS"}).status();
  EXPECT_TRUE(absl::IsUnavailable(formatted)) << formatted;
  EXPECT_EQ(node->Snapshot().disks[1].partitions.back().volume->file_system, "FAT32");
}

// The kubelet stages the volume again and again.
TEST(BetweenTenantsTest, AVolumeWhoseGrowthHangsIsStaged) {
  const auto node = Node();
  node->core()->Change([](NodeState& state) {
    FaultRule hangs;
    hangs.operation = "wmi.Invoke/MSFT_Partition.Resize";
    hangs.latency = absl::Hours(1);
    state.faults = {hangs};
  });
  Process process(node.get());
  const auto staged =
      process.storage->StageVolume(CallContext().WithTimeout(absl::Minutes(2)),
                                   {.disk = {.number = "1"}, .target_path = Below("new")});
  ASSERT_EQ(staged.status(), absl::OkStatus());
  EXPECT_EQ(staged->warnings.size(), 1u);
  EXPECT_TRUE(process.Unstage(Below("new")).ok());
}

// A volume that is not flushed is unmounted nevertheless.
TEST(BetweenTenantsTest, AVolumeIsFlushedAlthoughReadsOfManyDisksHang) {
  constexpr uint32_t kHung = 128;
  const auto node = Node();
  node->core()->Change([](NodeState& state) {
    FaultRule hangs;
    hangs.operation = "win32.Control";
    hangs.latency = absl::Minutes(10);
    hangs.times = kHung;
    state.faults = {hangs};
  });
  Process process(node.get());
  std::vector<std::thread> callers;
  for (uint32_t disk = 100; disk < 100 + kHung; ++disk) {
    callers.emplace_back([&process, disk] {
      EXPECT_FALSE(process.deps.host->disk().HasOnePartition(CallContext(), disk));
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(node->Snapshot().faults.empty());
  const auto unstaged = process.Unstage(Below("lun"));
  ASSERT_EQ(unstaged.status(), absl::OkStatus());
  EXPECT_EQ(unstaged->steps.front(), StorageStep::kFlushed);
  EXPECT_FALSE(process.deps.host->disk().HasOnePartition(CallContext(), 1)) << "no read can begin";
}

// The older calls find the disk online, so the driver does not call SetDiskState.
TEST(BetweenTenantsTest, ALateOfflineCallDoesNotBreakALaterMountByTheOlderCalls) {
  const auto node = Node();
  node->core()->Change(
      [](NodeState& state) { state.faults = {Late("wmi.Invoke/MSFT_Disk.Offline")}; });
  Process process(node.get());
  EXPECT_TRUE(absl::IsDeadlineExceeded(SetOnline(process, false, absl::Seconds(10))));
  const CallContext next = CallContext().WithTimeout(absl::Minutes(2));
  const auto partitioned =
      disk::NewDiskService(process.deps)->PartitionDisk(next, {.disk_number = 1});
  EXPECT_EQ(partitioned.status(), absl::OkStatus());
  const auto mounted =
      process.volume->MountVolume(next, {.volume_id = kVolume, .target_path = Below("new")});
  EXPECT_EQ(mounted.status(), absl::OkStatus());
  LetLateChangesEnd();
  EXPECT_TRUE(node->Snapshot().disks[1].online);
}

// The lock of the disk is free again, and its volume is still listed.
TEST(BetweenTenantsTest, FormatAndResizeWaitForALateOfflineCall) {
  for (const bool formats : {true, false}) {
    SCOPED_TRACE(formats);
    const auto node = Node();
    node->core()->Change(
        [](NodeState& state) { state.faults = {Late("wmi.Invoke/MSFT_Disk.Offline")}; });
    Process process(node.get());
    EXPECT_TRUE(absl::IsDeadlineExceeded(SetOnline(process, false, absl::Seconds(10))));
    const CallContext next = CallContext().WithTimeout(absl::Minutes(2));
    const absl::Status changed =
        formats ? process.volume->FormatVolume(next, {.volume_id = kVolume, .file_system = "ReFS"})
                      .status()
                : process.volume->ResizeVolume(next, {.volume_id = kVolume}).status();
    EXPECT_FALSE(changed.ok());
    EXPECT_FALSE(node->Snapshot().disks[1].online);
    EXPECT_EQ(node->Snapshot().disks[1].partitions.back().volume->file_system, "NTFS");
  }
}

// SetAttributes of MSFT_Disk sets the read-only flag.
TEST(BetweenTenantsTest, AReadOnlyFlagThatWindowsSetsAfterTheCallBreaksNoLaterMount) {
  for (const bool stages : {true, false}) {
    SCOPED_TRACE(stages);
    const auto node = Node();
    Process process(node.get());
    // The simulated Windows drops a late change of a changed disk, so StageVolume must not grow it.
    ASSERT_TRUE(process.volume->ResizeVolume({}, {.volume_id = kVolume}).ok());
    node->core()->Change(
        [](NodeState& state) { state.faults = {Late("wmi.Invoke/MSFT_Disk.SetAttributes")}; });
    const auto set = [&](bool read_only, absl::Duration limit) {
      return process.storage
          ->SetDiskReadOnly(CallContext().WithTimeout(limit),
                            {.disk_number = 1, .read_only = read_only})
          .status();
    };
    EXPECT_TRUE(absl::IsDeadlineExceeded(set(true, absl::Seconds(10))));
    const absl::Status next =
        stages ? process.storage
                     ->StageVolume(CallContext().WithTimeout(absl::Minutes(2)),
                                   {.disk = {.number = "1"}, .target_path = Below("new")})
                     .status()
               : set(false, absl::Minutes(2));
    EXPECT_EQ(next, absl::OkStatus());
    LetLateChangesEnd();
    EXPECT_FALSE(node->Snapshot().disks[1].read_only);
  }
}

// A file system that is still mounted writable would lose its writes.
TEST(BetweenTenantsTest, VolumesAreRemountedIfWindowsSetsTheReadOnlyFlagAfterTheCall) {
  const auto node = Node();
  node->core()->Change(
      [](NodeState& state) { state.faults = {Late("wmi.Invoke/MSFT_Disk.SetAttributes")}; });
  Process process(node.get());
  const auto set = process.storage->SetDiskReadOnly(CallContext().WithTimeout(absl::Seconds(10)),
                                                    {.disk_number = 1, .read_only = true});
  EXPECT_TRUE(absl::IsDeadlineExceeded(set.status())) << set.status();
  EXPECT_EQ(process.host->disk().AwaitChanges({}, 1), absl::OkStatus());
  EXPECT_TRUE(node->Snapshot().disks[1].read_only);
  EXPECT_TRUE(node->Snapshot().disks[1].partitions.back().mounted_read_only);
}

// A short deadline makes any removal late. After the removal another process maps the share with a
// new password, which the caller does not know.
TEST(BetweenTenantsTest, CredentialsAreForgottenIfTheirMappingIsRemovedLate) {
  const auto node = Node();
  Process process(node.get());
  process.deps.bind_smb_credentials = true;
  const auto shares = smb::NewSmbService(process.deps);
  const auto map = [&] {
    return shares
        ->NewSmbGlobalMapping({}, {.remote_path = kShare, .username = "u", .password = "old"})
        .status();
  };
  ASSERT_EQ(map(), absl::OkStatus());
  node->core()->Change(
      [](NodeState& state) { state.faults = {Late("wmi.Invoke/MSFT_SmbGlobalMapping.Remove")}; });
  const auto removed = shares->RemoveSmbGlobalMapping(CallContext().WithTimeout(absl::Seconds(10)),
                                                      {.remote_path = kShare});
  EXPECT_TRUE(absl::IsDeadlineExceeded(removed.status())) << removed.status();
  LetLateChangesEnd();
  ASSERT_TRUE(node->Snapshot().smb_mappings.empty());
  ASSERT_TRUE(node->SetSmbPassword("srv", "u", Secret("new")).ok());
  ASSERT_TRUE(process.host->smb().CreateMapping({}, kShare, {"u", Secret("new")}, true).ok());
  EXPECT_NE(map(), absl::OkStatus());
}

// The lock of a portal and WMI compare its address case-insensitively.
TEST(BetweenTenantsTest, ALateRemovalKeepsThePortalThatWasAddedInAnotherCase) {
  for (const char* const spelling : {"array.example", "ARRAY.example"}) {
    SCOPED_TRACE(spelling);
    const auto node = Node();
    node->core()->Change([](NodeState& state) {
      state.faults = {Late("wmi.Invoke/MSFT_iSCSITargetPortal.Remove")};
    });
    Process process(node.get());
    const auto iscsi = iscsi::NewIscsiService(process.deps);
    const auto removed =
        iscsi->RemoveTargetPortal(CallContext().WithTimeout(absl::Seconds(10)),
                                  {.target_portal = {.target_address = "array.example"}});
    EXPECT_TRUE(absl::IsDeadlineExceeded(removed.status())) << removed.status();
    const auto added = iscsi->AddTargetPortal(CallContext().WithTimeout(absl::Minutes(2)),
                                              {.target_portal = {.target_address = spelling}});
    EXPECT_EQ(added.status(), absl::OkStatus());
    LetLateChangesEnd();
    EXPECT_TRUE(node->Snapshot().iscsi_portals[0].registered);
  }
}

// UnstageTarget holds the locks of a session's disks until it returns. The session may end later.
TEST(BetweenTenantsTest, ALateLogoutDoesNotRemoveADiskThatStageVolumeMounted) {
  const auto node = Node();
  node->core()->Change(
      [](NodeState& state) { state.faults = {Late("wmi.Invoke/MSFT_iSCSITarget.Disconnect")}; });
  Process process(node.get());
  const auto ended = process.storage->UnstageTarget(
      CallContext().WithTimeout(absl::Seconds(10)),
      {.target_path = Below("lun"), .iqn = "iqn.2026-01.example:data"});
  EXPECT_TRUE(absl::IsDeadlineExceeded(ended.status())) << ended.status();
  const SteadyTime begin = SteadyTime::Now();
  const auto staged =
      process.storage->StageVolume(CallContext().WithTimeout(absl::Minutes(2)),
                                   {.disk = {.number = "10"}, .target_path = Below("new")});
  // StageVolume may wait or fail.
  EXPECT_TRUE(!staged.ok() || SteadyTime::Now() - begin > absl::Seconds(20))
      << "staged while the session of the disk is being ended";
  LetLateChangesEnd();
  EXPECT_EQ(staged.ok(), node->Snapshot().iscsi_portals[1].targets[0].connected);
}

// Each call flushes a volume before it ends the volume's mount.
TEST(BetweenTenantsTest, RemovingATreeFlushesTheVolumesMountedInIt) {
  for (const char* const name : {"Rmdir", "Rmdir with force", "RmdirContents"}) {
    SCOPED_TRACE(name);
    const auto node = Node();
    PlantJunction(*node, "j", kVolume, false);
    FaultRule fault;
    fault.operation = "win32.Flush";
    fault.times = 1;
    fault.code = absl::StatusCode::kInternal;
    fault.error = machine::simulator::KnownError(5);
    node->core()->Change([&](NodeState& state) { state.faults = {fault}; });
    Process process(node.get());
    const auto files = filesystem::NewFilesystemService(process.deps);
    const absl::string_view call = name;
    const absl::Status removed =
        call == "Rmdir" ? files->Rmdir({}, {.path = Below("pods\\a\\j")}).status()
        : call == "RmdirContents"
            ? files->RmdirContents({}, {.path = Below("pods\\a")}).status()
            : files->Rmdir({}, {.path = Below("pods\\a"), .force = true}).status();
    EXPECT_EQ(removed, absl::OkStatus());
    EXPECT_TRUE(node->Snapshot().faults.empty()) << "nothing was flushed";
  }
}

// A node with a caller's raw disk 1, offline and read-only, and another tenant's disk 2, online
// with an unmounted volume. The disks exchange their numbers right after the first call of `after`,
// as when sessions are lost and come back. Later exchanges are not tested: then only the device
// paths distinguish the disks, and the simulated machine derives these paths from the numbers.
class ExchangedDisks {
 public:
  explicit ExchangedDisks(const char* after) {
    node_->core()->Change([&](NodeState& state) {
      Disk others = state.disks[1];
      others.number = 2;
      others.serial_number = "others";
      state.disks.insert(state.disks.begin() + 2, others);
      Disk& callers = state.disks[1];
      callers.serial_number = "callers";
      callers.style = machine::simulator::PartitionStyle::kRaw;
      callers.partitions.clear();
      callers.online = false;
      callers.read_only = true;
      FaultRule first;
      first.operation = after;
      first.times = 1;
      first.latency = absl::Milliseconds(1);
      state.faults = {first};
    });
    process.life.before_call = [this](int) {
      node_->core()->Change([](NodeState& state) {
        if (!state.faults.empty() || state.disks[1].serial_number != "callers") return;
        std::swap(state.disks[1].number, state.disks[2].number);
        std::swap(state.disks[1], state.disks[2]);
      });
    };
  }
  // Changes the disks before the exchange.
  void Change(const std::function<void(Disk& callers, Disk& others)>& change) {
    node_->core()->Change([&](NodeState& state) { change(state.disks[1], state.disks[2]); });
  }
  // Changes the caller's disk after the first call of `after`.
  void ChangeLater(const std::function<void(Disk& callers)>& change) {
    node_->core()->Change([&](NodeState& state) {
      if (state.faults.empty()) change(state.disks[1]);
    });
  }
  void Inject(const FaultRule& rule) {
    node_->core()->Change([&](NodeState& state) { state.faults.push_back(rule); });
  }
  Disk Callers() { return node_->Snapshot().disks[1]; }
  // Returns the other tenant's disk after the exchange.
  Disk Others() {
    const NodeState state = node_->Snapshot();
    EXPECT_EQ(state.disks[1].serial_number, "others") << "the disks have not been exchanged";
    return state.disks[1];
  }

 private:
  const std::unique_ptr<Machine> node_ = Node();

 public:
  Process process{node_.get()};
};

TEST(ExchangedDisksTest, PartitionDiskWritesToNoOtherDisk) {
  ExchangedDisks disks("wmi.Invoke/MSFT_Disk.Online");
  disks.Change([](Disk&, Disk& others) {
    others.style = machine::simulator::PartitionStyle::kRaw;
    others.partitions.clear();
    others.foreign = {machine::simulator::DiskBytes{0, "LUKS"}};
  });
  const auto partitioned =
      disk::NewDiskService(disks.process.deps)->PartitionDisk({}, {.disk_number = 1});
  EXPECT_TRUE(absl::IsUnavailable(partitioned.status())) << partitioned.status();
  EXPECT_EQ(disks.Others().style, machine::simulator::PartitionStyle::kRaw);
}

// The other disk has the same number and path.
TEST(ExchangedDisksTest, StageVolumeAndPartitionDiskRefuseADiskThatReplacedABlankOne) {
  for (const bool by_stage : {false, true}) {
    SCOPED_TRACE(by_stage);
    ExchangedDisks disks("win32.Read");
    disks.process.deps.keep_foreign_data = true;
    disks.Change(
        [](Disk& callers, Disk&) { callers.page83 = "naa.60000000000000000000000000000001"; });
    disks.process.life.before_call = [&](int) {
      disks.ChangeLater([](Disk& disk) {
        disk.page83 = "naa.60000000000000000000000000000002";
        disk.foreign = {machine::simulator::DiskBytes{0, "LUKS"}};
      });
    };
    const absl::Status written = by_stage ? disks.process.Stage({.number = "1"}).status()
                                          : disk::NewDiskService(disks.process.deps)
                                                ->PartitionDisk({}, {.disk_number = 1})
                                                .status();
    EXPECT_TRUE(absl::IsUnavailable(written)) << written;
    EXPECT_EQ(disks.Callers().style, machine::simulator::PartitionStyle::kRaw);
  }
}

TEST(ExchangedDisksTest, ADiskIsRestoredAlthoughAVolumeLeavesIt) {
  ExchangedDisks disks("win32.Read");
  disks.Change([](Disk& callers, Disk& others) {
    callers.style = others.style;
    callers.partitions = others.partitions;
    callers.partitions.back().volume->id =
        *VolumeId::Parse(R"(\\?\Volume{00000000-0000-0000-0000-000000000009}\)");
    callers.partitions.back().volume->file_system = "";
    callers.foreign = {machine::simulator::DiskBytes{1 << 20, "LUKS"}};
  });
  FaultRule gone;
  gone.operation = "win32.ListMountPoints";
  gone.error = machine::simulator::KnownError(2);
  gone.code = absl::StatusCode::kNotFound;
  gone.times = 1;
  disks.process.life.before_call = [&, has_left = false](int) mutable {
    bool may_leave = false;
    disks.ChangeLater([&](Disk&) { may_leave = !std::exchange(has_left, true); });
    if (may_leave) disks.Inject(gone);
  };
  const absl::Status refused = disks.process.Stage({.number = "1"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_FALSE(disks.Callers().online);
  EXPECT_TRUE(disks.Callers().read_only);
}

TEST(ExchangedDisksTest, ARefusedStageVolumeRestoresNoOtherDisk) {
  for (const char* const after : {"win32.Read", "wmi.Invoke/MSFT_Disk.SetAttributes"}) {
    SCOPED_TRACE(after);
    ExchangedDisks disks(after);
    disks.Change([](Disk& callers, Disk&) {
      callers.foreign = {machine::simulator::DiskBytes{0, "LUKS"}};
    });
    const absl::Status refused = disks.process.Stage({.number = "1"}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_TRUE(disks.Others().online);
    EXPECT_FALSE(disks.Others().read_only);
  }
}

}  // namespace
}  // namespace csi_proxy::storage
