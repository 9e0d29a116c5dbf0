// Faults, the administrator's side, and many callers at once.
#include "server/machine/simulated/machine.h"

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/machine/simulated/storage.h"
#include "server/machine/simulated/test_node.h"

namespace csi_proxy::machine::simulated {
namespace {

class NodeTest : public testing::Test {
 protected:
  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode();
};

FaultRule Fails(std::string operation, std::string resource = "", uint32_t times = 0) {
  FaultRule rule;
  rule.operation = std::move(operation);
  rule.resource = std::move(resource);
  rule.times = times;
  rule.code = absl::StatusCode::kInternal;
  rule.error = KnownError(5);
  return rule;
}

TEST_F(NodeTest, AFaultStrikesItsOperationAndResourceAsOftenAsItSays) {
  ASSERT_THAT(node_->InjectFault(Fails("disk.GetSize", "1", 2)), IsOk());
  EXPECT_THAT(node_->disk().GetSize(context_, 2), IsOk());
  EXPECT_THAT(node_->disk().IsOnline(context_, 1), IsOk());
  EXPECT_THAT(node_->disk().GetSize(context_, 1),
              FailsWith(kInternal, "disk.GetSize failed: Access is denied. (error 0x5)"));
  EXPECT_THAT(node_->disk().GetSize(context_, 1), HasCode(kInternal));
  EXPECT_THAT(node_->disk().GetSize(context_, 1), IsOk());
}

TEST_F(NodeTest, PatternsAndClearing) {
  ASSERT_THAT(node_->InjectFault(Fails("volume.*")), IsOk());
  ASSERT_THAT(node_->InjectFault(Fails("filesystem.Exists", "c:\\VAR\\lib\\kubelet\\pods")),
              IsOk());
  EXPECT_THAT(node_->volume().Flush(context_, TestVolume(2)), HasCode(kInternal));
  EXPECT_THAT(node_->volume().GetSize(context_, TestVolume(2)), HasCode(kInternal));
  EXPECT_THAT(node_->filesystem().Exists(context_, Kubelet("pods")), HasCode(kInternal));
  EXPECT_THAT(node_->filesystem().Exists(context_, Kubelet("pods\\p1")), Yields(true));
  node_->ClearFaults();
  EXPECT_THAT(node_->volume().GetSize(context_, TestVolume(2)), IsOk());
}

// Every host method begins with the fault table, under the name the table knows it by.
TEST_F(NodeTest, EveryOperationCanFail) {
  const VolumeId id = TestVolume(2);
  const ConfinedPath path = Kubelet("pods");
  const UncPath unc = *UncPath::Parse("t", "\\\\a\\b");
  const IscsiPortal portal;
  DiskHost& disk = node_->disk();
  VolumeHost& volume = node_->volume();
  FilesystemHost& files = node_->filesystem();
  SmbHost& smb = node_->smb();
  IscsiHost& iscsi = node_->iscsi();
  SystemHost& system = node_->system();
  const auto status = [](const auto& result) { return StatusOf(result); };
  using Call = std::function<absl::Status()>;
  const std::vector<Call> calls = {
      [&] { return status(disk.ListDiskLocations(context_)); },
      [&] { return status(disk.ListDiskIdentities(context_)); },
      [&] { return disk.Rescan(context_); },
      [&] { return status(disk.GetLayout(context_, 1)); },
      [&] { return disk.InitializeGpt(context_, 1); },
      [&] { return status(disk.CreateBasicPartition(context_, 1)); },
      [&] { return status(disk.GetSize(context_, 1)); },
      [&] { return status(disk.IsOnline(context_, 1)); },
      [&] { return disk.SetOnline(context_, 1, true); },
      [&] { return status(volume.ListVolumes(context_, 1, 0)); },
      [&] { return status(volume.GetFileSystem(context_, id)); },
      [&] { return volume.Format(context_, id, {}); },
      [&] { return status(volume.GetSize(context_, id)); },
      [&] { return status(volume.GetSupportedSize(context_, id)); },
      [&] { return volume.Resize(context_, id, 1); },
      [&] { return status(volume.GetStats(context_, id)); },
      [&] { return status(volume.GetDiskNumber(context_, id)); },
      [&] { return volume.Mount(context_, id, path); },
      [&] { return volume.Unmount(context_, id, path); },
      [&] { return status(volume.GetVolumeAtMountPoint(context_, path)); },
      [&] { return status(volume.GetVolumeHolding(context_, path)); },
      [&] { return volume.Flush(context_, id); },
      [&] { return status(files.Exists(context_, path)); },
      [&] { return files.MakeDirectories(context_, path); },
      [&] { return files.Remove(context_, path, true); },
      [&] { return files.RemoveContents(context_, path); },
      [&] { return files.CreateLink(context_, path, path); },
      [&] { return files.CreateLinkToShare(context_, unc, path); },
      [&] { return status(files.ReadLink(context_, path)); },
      [&] { return status(smb.GetMapping(context_, "\\\\a\\b")); },
      [&] {
        return status(smb.IsHealthy(context_, SmbMapping{"", false, "\\\\a\\b"}));
      },
      [&] { return smb.CreateMapping(context_, "\\\\a\\b", {}, true); },
      [&] {
        return smb.RemoveMapping(context_, SmbMapping{"", false, "\\\\a\\b"});
      },
      [&] { return status(iscsi.ListPortals(context_)); },
      [&] { return iscsi.AddPortal(context_, portal); },
      [&] { return iscsi.RemovePortal(context_, portal); },
      [&] { return status(iscsi.DiscoverTargets(context_, portal)); },
      [&] { return status(iscsi.IsConnected(context_, portal, "i")); },
      [&] { return iscsi.Connect(context_, portal, "i", {}); },
      [&] { return iscsi.Disconnect(context_, portal, "i"); },
      [&] { return status(iscsi.GetTargetDisks(context_, portal, "i")); },
      [&] { return iscsi.SetMutualChapSecret(context_, Secret("123456789012")); },
      [&] { return status(system.GetBiosSerialNumber(context_)); },
      [&] { return status(system.GetService(context_, "s")); },
      [&] { return status(system.ListActiveDependents(context_, "s")); },
      [&] { return system.RequestStart(context_, "s"); },
      [&] { return system.RequestStop(context_, "s"); },
  };
  // What Windows itself is asked has tests of its own.
  std::vector<std::string> operations;
  for (const absl::string_view operation : HostOperations()) {
    if (!MatchesOperation("win32.*", operation) && !MatchesOperation("wmi.*", operation)) {
      operations.emplace_back(operation);
    }
  }
  ASSERT_EQ(calls.size(), operations.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string& operation = operations[i];
    ASSERT_THAT(node_->InjectFault(Fails(operation, "", 1)), IsOk());
    EXPECT_THAT(calls[i](), FailsWith(kInternal, operation + " failed"));
    EXPECT_TRUE(node_->Snapshot().faults.empty()) << operation;
  }
}

TEST_F(NodeTest, RulesThatCouldNeverStrikeAreRefused) {
  EXPECT_THAT(node_->InjectFault(Fails("volume.Frobnicate")), FailsWith(kInvalid, "operation"));
  EXPECT_THAT(node_->InjectFault(Fails("")), HasCode(kInvalid));
  FaultRule nothing = Fails("*");
  nothing.code = absl::StatusCode::kOk;
  EXPECT_THAT(node_->InjectFault(nothing), FailsWith(kInvalid, "code"));
  nothing.latency = absl::Hours(2);
  EXPECT_THAT(node_->InjectFault(nothing), FailsWith(kInvalid, "latency_ms"));
}

TEST_F(NodeTest, LatencyEndsWithTheCallAndNothingWasDone) {
  FaultRule slow = Fails("filesystem.*");
  slow.code = absl::StatusCode::kOk;
  slow.latency = absl::Minutes(10);
  ASSERT_THAT(node_->InjectFault(slow), IsOk());
  const CallContext hurried = context_.WithTimeout(absl::Milliseconds(20));
  EXPECT_THAT(node_->filesystem().Remove(hurried, Kubelet("pods"), true),
              HasCode(absl::StatusCode::kDeadlineExceeded));
  absl::Notification cancelled;
  const CallContext abandoned(absl::InfiniteFuture(), &cancelled, nullptr);
  std::thread caller([&] {
    EXPECT_THAT(node_->filesystem().Remove(abandoned, Kubelet("pods"), true),
                HasCode(absl::StatusCode::kCancelled));
  });
  // While one call waits, others do not.
  EXPECT_THAT(node_->disk().GetSize(context_, 1), IsOk());
  cancelled.Notify();
  caller.join();
  EXPECT_THAT(node_->disk().GetSize(abandoned, 1), HasCode(absl::StatusCode::kCancelled));
  node_->ClearFaults();
  EXPECT_THAT(node_->filesystem().Exists(context_, Kubelet("pods\\p1")), Yields(true));
}

TEST_F(NodeTest, AttachesOnlyDisksThatCanBe) {
  EXPECT_THAT(node_->AttachDisk(RawDisk(kGiB)), Yields(4u));
  EXPECT_THAT(node_->AttachDisk(RawDisk(kGiB), 1), HasCode(kExists));
  EXPECT_THAT(node_->AttachDisk(RawDisk(7)), FailsWith(kInvalid, "disk[5].size_bytes"));
  EXPECT_EQ(node_->disk().ListDiskLocations(context_)->size(), 5u);
  EXPECT_THAT(node_->DetachDisk(4), IsOk());
  EXPECT_THAT(node_->DetachDisk(4), HasCode(kNotFound));
}

TEST_F(NodeTest, ADiskPulledFromUnderItsMountLeavesADeadMountPoint) {
  ASSERT_THAT(node_->volume().Mount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
  ASSERT_THAT(node_->DetachDisk(2), IsOk());
  EXPECT_FALSE(node_->filesystem().ReadLink(context_, Kubelet("pods\\p1"))->target_exists);
  EXPECT_THAT(node_->filesystem().Exists(context_, Kubelet("pods\\p1\\x")), Yields(false));
  // Life goes on, for the administrator too.
  EXPECT_THAT(node_->AttachDisk(RawDisk(kGiB)), Yields(2u));
  EXPECT_THAT(node_->volume().Unmount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
}

TEST_F(NodeTest, TrapsAreSetWhereThePathSays) {
  EXPECT_THAT(node_->MakeLink("C:\\l", "relative"), HasCode(kInvalid));
  EXPECT_THAT(node_->MakeLink("l", "C:\\"), HasCode(kInvalid));
  EXPECT_THAT(node_->MakeLink("C:\\Windows", "C:\\"), HasCode(kExists));
  EXPECT_THAT(node_->MakeDirectory("C:\\new\\dir"), IsOk());
  EXPECT_THAT(node_->WriteFile("C:\\new\\dir", 1, false), HasCode(kExists));
  EXPECT_THAT(node_->WriteFile("Q:\\f", 1, false), HasCode(kNotFound));
}

TEST_F(NodeTest, ResetForgetsEverything) {
  ASSERT_THAT(node_->filesystem().Remove(context_, Kubelet("pods"), true), IsOk());
  ASSERT_THAT(node_->InjectFault(Fails("*")), IsOk());
  node_->Reset();
  EXPECT_THAT(node_->filesystem().Exists(context_, Kubelet("pods\\p1")), Yields(true));
}

TEST_F(NodeTest, ConcurrentCallersSeeOneNode) {
  constexpr int kCallers = 8;
  constexpr int kRounds = 200;
  std::atomic<int> initialised = 0, partitioned = 0, made = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      const CallContext context;
      if (node_->disk().InitializeGpt(context, 1).ok()) ++initialised;
      if (node_->disk().CreateBasicPartition(context, 1).ok()) ++partitioned;
      for (int i = 0; i < kRounds; ++i) {
        const std::string own = absl::StrCat("pods\\p1\\c", c);
        EXPECT_THAT(node_->filesystem().MakeDirectories(context, Kubelet(own)), IsOk());
        if (node_->filesystem().CreateLink(context, Kubelet("pods"), Kubelet("one")).ok()) ++made;
        EXPECT_THAT(node_->filesystem().Exists(context, Kubelet(own)), Yields(true));
        EXPECT_THAT(node_->filesystem().Remove(context, Kubelet(own), true), IsOk());
        EXPECT_THAT(node_->volume().GetStats(context, TestVolume(2)), IsOk());
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

// A link that is swapped all the time never lets a call out: what a call sees is what it acts on.
TEST_F(NodeTest, ASwappedLinkLetsNobodyOut) {
  std::atomic<bool> done = false;
  std::thread attacker([&] {
    const CallContext context;
    while (!done) {
      (void)node_->MakeLink("C:\\var\\lib\\kubelet\\x", "C:\\Windows");
      (void)node_->filesystem().Remove(context, Kubelet("x"), true);
      (void)node_->filesystem().MakeDirectories(context, Kubelet("x"));
      (void)node_->filesystem().Remove(context, Kubelet("x"), true);
    }
  });
  for (int i = 0; i < 3000; ++i) {
    const absl::Status removed =
        node_->filesystem().Remove(context_, Kubelet("x\\secret.txt"), true);
    EXPECT_TRUE(removed.ok() || removed.code() == kDenied) << removed;
    (void)node_->filesystem().MakeDirectories(context_, Kubelet("x\\planted"));
  }
  done = true;
  attacker.join();
  EXPECT_THAT(node_->filesystem().Exists(context_, Anywhere("C:\\Windows\\secret.txt")),
              Yields(true));
  EXPECT_THAT(node_->filesystem().Exists(context_, Anywhere("C:\\Windows\\planted")),
              Yields(false));
}

}  // namespace
}  // namespace csi_proxy::machine::simulated
