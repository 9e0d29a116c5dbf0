// Tests faults, the administrator's side, trees and concurrent callers.
#include "server/simulator/machine.h"

#include <atomic>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/node/simulated_host.h"
#include "server/simulator/storage.h"
#include "server/simulator/testing.h"
#include "server/simulator/tree.h"

namespace csi_proxy::machine::simulator {
namespace {

class MachineTest : public testing::Test {
 protected:
  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode();
  std::unique_ptr<host::Host> host_ = NewSimulatedHost(*node_);
};

Disk DiskWithVolume(int volume) {
  Disk disk = RawDisk(uint64_t{1} << 30);
  disk.style = PartitionStyle::kGpt;
  DiskPartition partition;
  partition.number = 1;
  partition.offset_bytes = kDiskMargin;
  partition.size_bytes = uint64_t{1} << 29;
  partition.volume = Volume{TestVolume(volume), "NTFS", 0, Tree()};
  disk.partitions.push_back(partition);
  return disk;
}

// The last known place of a volume must never be taken for its current place.
TEST_F(MachineTest, FindVolumeReturnsAVolumesCurrentPlace) {
  const auto disk_of = [&](int volume) {
    return node_->core()->Change([&](NodeState& state) -> absl::StatusOr<uint32_t> {
      const absl::StatusOr<VolumePlace> place = FindVolume(state, TestVolume(volume));
      if (!place.ok()) return place.status();
      EXPECT_EQ(place->volume->id, TestVolume(volume));
      return place->disk->number;
    });
  };
  const auto disk_with = [&](uint32_t number) {
    return node_->core()->Change([&](NodeState& state) -> absl::StatusOr<uint32_t> {
      const absl::StatusOr<Disk*> disk = FindDisk(state, number);
      if (!disk.ok()) return disk.status();
      return (*disk)->number;
    });
  };
  ASSERT_THAT(node_->AttachDisk(DiskWithVolume(5), 5), Yields(5u));
  ASSERT_THAT(node_->AttachDisk(DiskWithVolume(6), 6), Yields(6u));
  EXPECT_THAT(disk_of(5), Yields(5u));
  EXPECT_THAT(disk_of(6), Yields(6u));
  // All disks behind this disk move up in NodeState::disks.
  ASSERT_THAT(node_->DetachDisk(1), IsOk());
  EXPECT_THAT(disk_of(6), Yields(6u));
  EXPECT_THAT(disk_of(5), Yields(5u));
  EXPECT_THAT(disk_with(5), Yields(5u));
  EXPECT_THAT(disk_with(6), Yields(6u));
  EXPECT_THAT(disk_with(1), HasCode(kNotFound));
  // The detached volume is attached again, on a disk with another number.
  ASSERT_THAT(node_->DetachDisk(5), IsOk());
  EXPECT_THAT(disk_of(5), HasCode(kNotFound));
  EXPECT_THAT(disk_with(5), HasCode(kNotFound));
  ASSERT_THAT(node_->AttachDisk(DiskWithVolume(5), 9), Yields(9u));
  EXPECT_THAT(disk_of(5), Yields(9u));
  ASSERT_THAT(host_->disk().SetOnline(context_, 9, false), IsOk());
  EXPECT_THAT(disk_of(5), HasCode(kNotFound));
  ASSERT_THAT(host_->disk().SetOnline(context_, 9, true), IsOk());
  EXPECT_THAT(disk_of(5), Yields(9u));
  // The disks change places in NodeState::disks, including two disks whose places the index has.
  node_->core()->Change([](NodeState& state) {
    std::reverse(state.disks.begin(), state.disks.end());
    const absl::StatusOr<VolumePlace> system = FindDrive(state, 'C');
    EXPECT_TRUE(system.ok() && system->volume->drive_letter == 'C');
  });
  EXPECT_THAT(disk_of(5), Yields(9u));
  EXPECT_THAT(disk_of(6), Yields(6u));
}

TEST_F(MachineTest, TheDeviceIndexForgetsDetachedDisks) {
  for (int round = 0; round < 100; ++round) {
    const absl::StatusOr<uint32_t> number = node_->AttachDisk(RawDisk(uint64_t{1} << 30));
    ASSERT_THAT(number, IsOk());
    node_->core()->Change([&](NodeState& state) {
      EXPECT_THAT(InitializeGpt(**FindDisk(state, *number)), IsOk());
      EXPECT_THAT(CreateBasicPartition(state, **FindDisk(state, *number)), IsOk());
      const VolumeId volume = (*FindDisk(state, *number))->partitions.back().volume->id;
      EXPECT_THAT(FindVolume(state, volume), IsOk());
    });
    ASSERT_THAT(node_->DetachDisk(*number), IsOk());
  }
  const NodeState state = node_->Snapshot();
  EXPECT_LE(state.device_index.volumes.size(), state.disks.size() + 2);
  EXPECT_LE(state.device_index.disks.size(), state.disks.size() + 1);
}

FaultRule Fails(std::string operation, std::string resource = "", uint32_t times = 0) {
  FaultRule rule;
  rule.operation = std::move(operation);
  rule.resource = std::move(resource);
  rule.times = times;
  rule.code = absl::StatusCode::kInternal;
  rule.error = KnownError(5);
  return rule;
}

TEST_F(MachineTest, FaultRulesThatCouldNeverApplyAreRefused) {
  EXPECT_THAT(node_->InjectFault(Fails("volume.Frobnicate")), FailsWith(kInvalid, "operation"));
  EXPECT_THAT(node_->InjectFault(Fails("")), HasCode(kInvalid));
  FaultRule nothing = Fails("*");
  nothing.code = absl::StatusCode::kOk;
  EXPECT_THAT(node_->InjectFault(nothing), FailsWith(kInvalid, "code"));
  nothing.latency = absl::Hours(2);
  EXPECT_THAT(node_->InjectFault(nothing), FailsWith(kInvalid, "latency_ms"));
}

TEST_F(MachineTest, AStuckFaultRuleNeedsNeitherCodeNorLatency) {
  FaultRule stuck = Fails("filesystem.PathExists");
  stuck.code = absl::StatusCode::kOk;
  EXPECT_THAT(node_->InjectFault(stuck), FailsWith(kInvalid, "code"));
  stuck.stuck = true;
  ASSERT_THAT(node_->InjectFault(stuck), IsOk());
  ASSERT_EQ(node_->Snapshot().faults.size(), 1u);
  EXPECT_TRUE(node_->Snapshot().faults[0].stuck);
}

TEST_F(MachineTest, AttachDiskRefusesImpossibleDisks) {
  EXPECT_THAT(node_->AttachDisk(RawDisk(kGiB)), Yields(4u));
  EXPECT_THAT(node_->AttachDisk(RawDisk(kGiB), 1), HasCode(kExists));
  EXPECT_THAT(node_->AttachDisk(RawDisk(7)), FailsWith(kInvalid, "disk[5].size_bytes"));
  EXPECT_EQ(host_->disk().ListDisks(context_)->size(), 5u);
  EXPECT_THAT(node_->DetachDisk(4), IsOk());
  EXPECT_THAT(node_->DetachDisk(4), HasCode(kNotFound));
}

TEST_F(MachineTest, ImpossibleLinksAndFilesAreRefused) {
  EXPECT_THAT(node_->MakeLink("C:\\l", "relative"), HasCode(kInvalid));
  EXPECT_THAT(node_->MakeLink("l", "C:\\"), HasCode(kInvalid));
  EXPECT_THAT(node_->MakeLink("C:\\Windows", "C:\\"), HasCode(kExists));
  EXPECT_THAT(node_->MakeDirectory("C:\\new\\dir"), IsOk());
  EXPECT_THAT(node_->WriteFile("C:\\new\\dir", 1, false), HasCode(kExists));
  EXPECT_THAT(node_->WriteFile("Q:\\f", 1, false), HasCode(kNotFound));
}

TEST_F(MachineTest, RemoveFolderRemovesDirectoriesAsTheKubeletDoes) {
  ASSERT_THAT(host_->volume().Mount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\l", "C:\\Windows"), IsOk());
  EXPECT_THAT(node_->RemoveFolder("C:\\var\\lib\\kubelet\\pods"), FailsWith(kInternal, "0x91"));
  EXPECT_THAT(node_->RemoveFolder("C:\\var\\lib\\kubelet\\pods\\p1"), IsOk());
  EXPECT_THAT(node_->RemoveFolder("C:\\var\\lib\\kubelet\\pods"), IsOk());
  EXPECT_THAT(node_->RemoveFolder("C:\\l"), IsOk());
  EXPECT_THAT(node_->RemoveFolder("C:\\l"), HasCode(kNotFound));
  EXPECT_THAT(node_->RemoveFolder("C:\\Windows\\secret.txt"), HasCode(kInternal));
  EXPECT_THAT(node_->RemoveFolder("C:\\"), HasCode(kInternal));
  EXPECT_THAT(host_->volume().GetStats(context_, TestVolume(2)), IsOk());
}

TEST_F(MachineTest, ARebootKeepsTheDisksContentAndLosesTheStateInMemory) {
  node_ = TestNode(R"(
    disk { number: 4 size_bytes: 1073741824 awaits_rescan: true }
    smb_server { name: "files" user { name: "me" password: "mine" } share { name: "data" } }
    iscsi_portal {
      address: "10.0.0.5" registered: true
      target { iqn: "iqn.a" connected: true persistent: true }
      target { iqn: "iqn.b" connected: true }
      target { iqn: "iqn.c" persistent: true }
    }
    service { name: "Needed" start_type: MANUAL state: STOPPED }
    service { name: "Auto" start_type: AUTOMATIC state: STOPPED depends_on: "Needed" }
    service { name: "Manual" start_type: MANUAL state: RUNNING }
    other_open { path: "C:\\Windows\\secret.txt" access: READING }
  )");
  host_ = NewSimulatedHost(*node_);
  ASSERT_THAT(host_->volume().Mount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
  ASSERT_THAT(host_->filesystem().CreateLink(context_, Kubelet("pods\\p1"), Kubelet("link")),
              IsOk());
  ASSERT_THAT(host_->smb().CreateMapping(context_, "\\\\files\\data", {"me", Secret("mine")}, true),
              IsOk());
  ASSERT_THAT(node_->GrowDisk(1, 2 * kGiB), IsOk());

  node_->Reboot();
  EXPECT_THAT(host_->volume().GetVolumeAtMountPoint(context_, Kubelet("pods\\p1")),
              Yields(TestVolume(2)));
  EXPECT_TRUE(host_->filesystem().ReadLink(context_, Kubelet("link"))->target_exists);
  EXPECT_THAT(host_->smb().GetMapping(context_, "\\\\files\\data"), Yields(std::nullopt));
  EXPECT_THAT(host_->disk().IsOnline(context_, 3), Yields(false));
  EXPECT_THAT(host_->disk().GetSize(context_, 1), Yields(2 * kGiB));
  EXPECT_THAT(host_->disk().GetSize(context_, 4), Yields(kGiB));
  const NodeState after = node_->Snapshot();
  EXPECT_TRUE(after.other_opens.empty());
  EXPECT_TRUE(after.iscsi_portals[0].targets[0].connected);
  EXPECT_FALSE(after.iscsi_portals[0].targets[1].connected);
  // A persistent login is opened at the start even if it had no session before.
  EXPECT_TRUE(after.iscsi_portals[0].targets[2].connected);
  EXPECT_EQ(after.services[0].state, ServiceState::kRunning);
  EXPECT_EQ(after.services[1].state, ServiceState::kRunning);
  EXPECT_EQ(after.services[2].state, ServiceState::kStopped);
}

TEST_F(MachineTest, AnArrivingDeviceEndsAwaitDeviceChange) {
  Core& core = *node_->core();
  uint64_t seen = core.DeviceChanges();
  core.AwaitDeviceChange(seen, absl::Milliseconds(1));
  EXPECT_EQ(core.DeviceChanges(), seen);

  std::thread cloud([&] { EXPECT_THAT(node_->AttachDisk(DiskWithVolume(5), 5), Yields(5u)); });
  core.AwaitDeviceChange(seen, absl::InfiniteDuration());
  cloud.join();
  EXPECT_NE(core.DeviceChanges(), seen);

  // The disk arrives again after 20 ms, and its volume 20 ms after the disk.
  seen = core.DeviceChanges();
  ASSERT_THAT(core.Change([](NodeState& state) {
    Disk& disk = state.disks.back();
    disk.arrives_at = SteadyTime::Now() + absl::Milliseconds(20);
    disk.partitions.front().arrives_at = disk.arrives_at + absl::Milliseconds(20);
    return absl::OkStatus();
  }),
              IsOk());
  const uint64_t gone = core.DeviceChanges();
  EXPECT_NE(gone, seen);
  core.AwaitDeviceChange(gone, absl::InfiniteDuration());
  const uint64_t disk_there = core.DeviceChanges();
  EXPECT_NE(disk_there, gone);
  if (disk_there != seen) core.AwaitDeviceChange(disk_there, absl::InfiniteDuration());
  EXPECT_EQ(core.DeviceChanges(), seen);
}

TEST_F(MachineTest, ConcurrentCallersShareOneNode) {
  constexpr int kCallers = 8;
  constexpr int kRounds = 200;
  std::atomic<int> initialised = 0, partitioned = 0, made = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      const CallContext context;
      const auto disk = host_->disk().GetLayout(context, 1);
      if (disk.ok() && host_->disk().InitializeGpt(context, *disk).ok()) ++initialised;
      if (disk.ok() && host_->disk().CreateBasicPartition(context, *disk).ok()) ++partitioned;
      for (int i = 0; i < kRounds; ++i) {
        const std::string own = absl::StrCat("pods\\p1\\c", c);
        EXPECT_THAT(host_->filesystem().MakeDirectories(context, Kubelet(own)), IsOk());
        if (host_->filesystem().CreateLink(context, Kubelet("pods"), Kubelet("one")).ok()) ++made;
        EXPECT_THAT(host_->filesystem().Exists(context, Kubelet(own)), Yields(true));
        EXPECT_THAT(host_->filesystem().Remove(context, Kubelet(own), true), IsOk());
        EXPECT_THAT(host_->volume().GetStats(context, TestVolume(2)), IsOk());
        if (i % 20 == 0) {
          EXPECT_FALSE(node_->Snapshot().disks.empty());
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(initialised, 1);
  EXPECT_EQ(partitioned, 1);
  EXPECT_EQ(made, 1);
}

}  // namespace
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TreeTest, MountsOfReturnsTheFoldersWhereAVolumeIsMounted) {
  const VolumeId volume = TestVolume(1);
  const VolumeId other = TestVolume(2);
  Tree tree;
  const Tree::Id b = *tree.Add(Tree::kRoot, Tree::Directory("b"));
  const Tree::Id a = *tree.Add(Tree::kRoot, Tree::Directory("a"));
  const Tree::Id below = *tree.Add(a, Tree::Directory("below"));
  EXPECT_THAT(tree.MountsOf(volume), IsEmpty());
  tree.SetMounted(b, volume);
  tree.SetMounted(below, volume);
  EXPECT_THAT(tree.MountsOf(volume), ElementsAre(below, b));
  // The mount is made with its directory, as in a scenario.
  Tree::Entry made = Tree::Directory("made");
  made.mounted = other;
  const Tree::Id third = *tree.Add(Tree::kRoot, made);
  EXPECT_THAT(tree.MountsOf(other), ElementsAre(third));
  const Tree copy = tree;

  tree.SetMounted(b, other);
  EXPECT_THAT(tree.MountsOf(volume), ElementsAre(below));
  EXPECT_THAT(tree.MountsOf(other), ElementsAre(b, third));
  tree.SetLink(b, "C:\\x");
  EXPECT_THAT(tree.MountsOf(other), ElementsAre(third));
  tree.Remove(third);
  EXPECT_THAT(tree.MountsOf(other), IsEmpty());
  tree.RemoveChildren(Tree::kRoot);
  EXPECT_TRUE(tree.at(Tree::kRoot).children.empty());
  EXPECT_THAT(tree.MountsOf(volume), IsEmpty());
  EXPECT_THAT(copy.MountsOf(volume), ElementsAre(below, b));
}

TEST(TreeTest, PathsAreLimitedToTheLengthThatWindowsAllows) {
  Tree tree;
  Tree::Id at = Tree::kRoot;
  size_t depth = 0;
  absl::Status end;
  while (true) {
    const absl::StatusOr<Tree::Id> made = tree.Add(at, Tree::Directory("d"));
    end = made.status();
    if (!made.ok()) break;
    at = *made;
    ++depth;
  }
  EXPECT_EQ(depth, 32767u / 2);
  EXPECT_THAT(end, FailsWith(kInternal, "error 0xce"));
  EXPECT_EQ(tree.Walk().size(), depth);
  tree.RemoveChildren(Tree::kRoot);
  EXPECT_EQ(tree.size(), 0u);
}

}  // namespace

}  // namespace csi_proxy::machine::simulator
