// Tests disks that answer oddly, and the folders at which volumes are mounted.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "server/host/mount_point.h"
#include "server/host/odd_machine_testing.h"
#include "server/host/operations_testing.h"
#include "server/host/testing.h"
#include "server/simulator/storage.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::host {
namespace {

class DiskVolumeTest : public testing::Test {
 protected:
  DiskHost& disk() { return host_->disk(); }
  VolumeHost& volume() { return host_->volume(); }

  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode();
  std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

// The page 83 id of a disk that cannot be opened is WMI's.
TEST_F(DiskVolumeTest, AnUnopenableDiskIsIdentifiedByItsUniqueId) {
  node_ = TestNode(R"(
      disk { number: 5 size_bytes: 1048576 page83: "60022480a1b2c3d4e5f60718293a4b5c" }
      disk { number: 6 size_bytes: 1048576 page83: "Vendor Name" }
      disk { number: 7 size_bytes: 1048576 }
      fault { operation: "win32.Control" code: "INTERNAL" error { code: 21 } })");
  host_ = NewSimulatedHost(*node_);
  const auto identities = *disk().ListDisks(context_, AskDisks::kIds);
  ASSERT_EQ(identities.size(), 7u);
  for (const DiskDescription& identity : identities) {
    EXPECT_THAT(identity.status, FailsWith(kInternal, "reading page 83 of disk"));
  }
  EXPECT_EQ(identities[4].page83, "60022480a1b2c3d4e5f60718293a4b5c");
  EXPECT_EQ(identities[5].page83, "Vendor Name");
  EXPECT_EQ(identities[6].page83, "");
}

TEST_F(DiskVolumeTest, DisksWithoutANumberAreLoggedOnce) {
  std::vector<std::string> warnings;
  host_ = std::make_unique<Host>(machine::simulator::wmi::NewSimulatedSession(node_->core()),
                                 machine::simulator::NewSimulatedOs(node_->core()),
                                 [&](absl::string_view line) { warnings.emplace_back(line); });
  const auto take_number = [&](uint32_t of) {
    node_->core()->Change([&](NodeState& state) {
      for (Disk& disk : state.disks) {
        if (disk.number == of) disk.without_number = true;
      }
    });
  };
  take_number(1);
  for (int i = 0; i < 2; ++i) ASSERT_THAT(disk().ListDisks(context_, AskDisks::kLocation), IsOk());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0],
              testing::StartsWith("a disk without a number is left out of all listings: "));
  EXPECT_THAT(warnings[0], testing::HasSubstr("MSFT_Disk"));
  for (uint32_t i = 0; i < 120; ++i) {
    ASSERT_THAT(node_->AttachDisk(RawDisk(kMiB), 100 + i), IsOk());
    take_number(100 + i);
  }
  for (int i = 0; i < 2; ++i) ASSERT_THAT(disk().ListDisks(context_, AskDisks::kIds), IsOk());
  EXPECT_EQ(warnings.size(), 100u);
}

TEST_F(DiskVolumeTest, UsedBytesFollowTheFiles) {
  const auto used = [&] { return volume().GetStats(context_, TestVolume(2))->used_bytes; };
  ASSERT_THAT(volume().Mount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
  const uint64_t before = used();
  EXPECT_EQ(volume().GetStats(context_, TestVolume(2))->total_bytes, 512 * kMiB);
  ASSERT_THAT(node_->WriteFile("C:\\var\\lib\\kubelet\\pods\\p1\\f", 10000, false), IsOk());
  EXPECT_EQ(used(), before + 12288 + 1024);
  ASSERT_THAT(host_->filesystem().Remove(context_, Kubelet("pods\\p1\\f"), false), IsOk());
  EXPECT_EQ(used(), before);
}

TEST_F(DiskVolumeTest, ListHealthAgreesWithGetHealth) {
  const auto health = volume().ListHealth(context_);
  ASSERT_THAT(health, IsOk());
  ASSERT_TRUE(health->contains(TestVolume(2)));
  EXPECT_EQ(health->at(TestVolume(2)), volume().GetHealth(context_, TestVolume(2))->health);
}

// A hung volume must not take the slots of all calls that list volumes.
TEST_F(DiskVolumeTest, ListVolumesYieldsItsSlotWhileItWaitsForAnotherCall) {
  FaultRule rule;
  rule.operation = "win32.ListVolumes";
  rule.times = 1;
  rule.latency = absl::Milliseconds(300);
  ASSERT_THAT(node_->InjectFault(rule), IsOk());
  TestSlot slots[2];
  std::vector<std::thread> calls;
  for (TestSlot& slot : slots) {
    calls.emplace_back(
        [&] { EXPECT_THAT(volume().ListVolumes(context_.With(&slot), 1, 0), IsOk()); });
  }
  for (std::thread& call : calls) call.join();
  EXPECT_NE(slots[0].yielded, slots[1].yielded) << "the call that looked keeps its slot";
}

// Windows reads a plain path literally only if each of its names is an ordinary one.
TEST(MountPointNameTest, TheVerbatimFormIsUsedOnlyForUnusualAndLongNames) {
  EXPECT_EQ(MountPointName("C:\\a"), "C:\\a\\");
  EXPECT_EQ(MountPointName("C:\\a b\\c.d\\"), "C:\\a b\\c.d\\");
  EXPECT_EQ(MountPointName("C:\\a\\con"), "\\\\?\\C:\\a\\con\\");
  EXPECT_EQ(MountPointName("C:\\a\\b."), "\\\\?\\C:\\a\\b.\\");
  EXPECT_EQ(MountPointName("\\\\?\\Volume{x}\\a"), "\\\\?\\Volume{x}\\a\\");
  // 260 UTF-16 units, including the NUL.
  const auto path = [](size_t length) {
    return "C:\\" + std::string(200, 'a') + "\\" + std::string(length - 205, 'b') + "\\";
  };
  EXPECT_EQ(MountPointName(path(259)), path(259));
  EXPECT_EQ(MountPointName(path(260)), "\\\\?\\" + path(260));
  std::string wide = "C:\\";
  for (int i = 0; i < 125; ++i) wide += "\xC3\xA9";
  EXPECT_EQ(MountPointName(wide), wide + "\\");
}

}  // namespace
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The simulated WMI. A person formats the volume by hand while WMI searches for it.
class PreparingSession final : public machine::simulator::wmi::SimulatedSession {
 public:
  explicit PreparingSession(machine::simulator::Core* core)
      : SimulatedSession(core), core_(*core) {}

  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext& context, cim::Namespace space,
                                                   const std::string& wql) override {
    if (absl::StrContains(wql, "MSFT_Volume")) {
      core_.Change(
          [](NodeState& state) { state.disks[2].partitions.back().volume->file_system = "FAT32"; });
    }
    return SimulatedSession::DoQuery(context, space, wql);
  }

 private:
  machine::simulator::Core& core_;
};

TEST_F(DiskVolumeTest, FormatKeepsAVolumeThatWasFormattedDuringTheCall) {
  Host host(std::make_unique<PreparingSession>(node_->core()),
            machine::simulator::NewSimulatedOs(node_->core()));
  EXPECT_THAT(host.volume().Format(context_, TestVolume(2), {}),
              FailsWith(absl::StatusCode::kUnavailable, "has been formatted or mounted meanwhile"));
  EXPECT_EQ(node_->Snapshot().disks[2].partitions.back().volume->file_system, "FAT32");
}

// The simulated Win32, whose mount manager names extra paths for each volume.
class RememberingOs final : public OddOs {
 public:
  RememberingOs(Machine& node, std::vector<std::string> also)
      : OddOs(node), also_(std::move(also)) {}
  absl::StatusOr<std::vector<std::string>> ListMountPoints(const std::string& volume) override {
    auto points = OddOs::ListMountPoints(volume);
    if (points.ok()) points->insert(points->end(), also_.begin(), also_.end());
    return points;
  }

 private:
  const std::vector<std::string> also_;
};

// Returns a host; see OddOs for `right_numbers`.
std::unique_ptr<Host> RenumberingHost(Machine& node, int right_numbers) {
  auto os = std::make_unique<OddOs>(node);
  os->right_numbers = right_numbers;
  return std::make_unique<Host>(machine::simulator::wmi::NewSimulatedSession(node.core()),
                                std::move(os));
}

TEST(RenumberedDiskTest, SetOnlineKeepsTheFlagOfTheDiskThatHasTheNumber) {
  const auto node =
      TestNode("disk { number: 5 size_bytes: 1048576 offline: true read_only: true }");
  const auto host = RenumberingHost(*node, 0);
  const auto disk = host->disk().Describe(CallContext(), 5);
  ASSERT_THAT(disk, IsOk());
  EXPECT_THAT(host->disk().SetOnline(CallContext(), 5, true, &*disk),
              FailsWith(absl::StatusCode::kUnavailable, "belongs to disk 99"));
  EXPECT_TRUE(node->Snapshot().disks[4].read_only);
}

TEST(RenumberedDiskTest, SetReadOnlyNeitherFlagsNorRemountsTheDiskThatHasTheNumber) {
  for (const int answers : {0, 1}) {
    const auto node = TestNode();
    const auto host = RenumberingHost(*node, answers);
    EXPECT_THAT(host->disk().SetReadOnly(CallContext(), 2, true),
                FailsWith(absl::StatusCode::kUnavailable, "belongs to disk 99"));
    EXPECT_EQ(node->Snapshot().disks[2].read_only, answers == 1);
    EXPECT_FALSE(node->Snapshot().disks[2].partitions.back().mounted_read_only);
  }
}

class MountPointsTest : public testing::Test {
 protected:
  // Returns the volume's mount points of drivers if `of_drivers`, else its other mount points. The
  // mount manager also names the paths in `also`.
  std::vector<std::string> Paths(bool of_drivers, std::vector<std::string> also,
                                 const PathRoots* roots) {
    const auto host = std::make_unique<Host>(
        std::make_unique<machine::simulator::wmi::SimulatedSession>(node_->core()),
        std::make_unique<RememberingOs>(*node_, std::move(also)));
    VolumeView volume = {.id = kVolume, .extents = {}};
    EXPECT_THAT(host->volume().ReadMounts(context_, roots, &volume), IsOk());
    std::vector<std::string> paths;
    for (const MountPoint& point : volume.mounts) {
      if (point.is_drivers == of_drivers) paths.push_back(point.path);
    }
    return paths;
  }

  const CallContext context_ = CallContext();
  const std::unique_ptr<Machine> node_ = *Machine::Create(PreparedNode());
  const PathRoots roots_{{*WindowsPath::Parse("root", R"(C:\var\lib\kubelet)")}};
};

TEST_F(MountPointsTest, OutdatedMountFoldersAreOmitted) {
  const std::string mounted = R"(C:\var\lib\kubelet\mounted\)";
  const std::vector<std::string> stale = {
      R"(C:\var\lib\kubelet\gone\)", R"(C:\var\lib\kubelet\empty\)", R"(C:\var\lib\kubelet\link\)",
      R"(C:\gone\)", R"(C:\Windows\)"};
  EXPECT_THAT(Paths(true, stale, &roots_), UnorderedElementsAre(mounted));
  EXPECT_THAT(Paths(false, stale, &roots_), IsEmpty());
  // A path that cannot be checked is listed, because it may lead to the volume.
  const std::string odd = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\odd\)";
  EXPECT_THAT(Paths(false, {odd, R"(Z:\)"}, &roots_), UnorderedElementsAre(odd, R"(Z:\)"));
  FaultRule rule;
  rule.operation = "win32.Open";
  rule.code = kInternal;
  rule.error = KnownError(5);
  ASSERT_THAT(node_->InjectFault(rule), IsOk());
  EXPECT_THAT(Paths(true, {}, &roots_), UnorderedElementsAre(mounted));
}

TEST_F(MountPointsTest, AMountOutsideTheWorkingDirectoriesDoesNotBelongToADriver) {
  const std::string mounted = R"(C:\var\lib\kubelet\mounted\)";
  for (const char* root : {R"(C:\var\lib\kubelet\mounted)", R"(C:\var\lib\kubelet\m)", R"(D:\)"}) {
    const PathRoots roots{{*WindowsPath::Parse("root", root)}};
    EXPECT_THAT(Paths(true, {}, &roots), IsEmpty()) << root;
    EXPECT_THAT(Paths(false, {}, &roots), UnorderedElementsAre(mounted)) << root;
  }
  const PathRoots several{
      {*WindowsPath::Parse("root", R"(C:\a)"), *WindowsPath::Parse("root", R"(c:\VAR\lib)")}};
  EXPECT_THAT(Paths(true, {}, &several), UnorderedElementsAre(mounted));
  EXPECT_THAT(Paths(true, {}, nullptr), UnorderedElementsAre(mounted));
}

}  // namespace

}  // namespace csi_proxy::host
