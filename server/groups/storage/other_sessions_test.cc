// Tests StageTarget and UnstageTarget while other tenants have sessions with another target of the
// same name, or with the same target by another portal.
#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "server/groups/locks.h"
#include "server/groups/node_services.h"
#include "server/groups/storage/target_testing.h"

namespace csi_proxy::storage {
namespace {

using machine::simulator::IscsiTarget;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using enum StorageStep;

// An attacker's portal with a target of the victim's name, and a portal that does not answer.
constexpr char kOtherPortals[] = R"(
  iscsi_portal { address: "10.6.6.6" target {
    iqn: "iqn.2026-01.example:data" separate: true
    disk { number: 20 size_bytes: 1073741824 page83: "other" offline: true bus_type: BUS_ISCSI
           location: "iSCSI : Adapter 1 : Port 0 : Target 1 : LUN 0" } } }
  iscsi_portal { address: "10.1.1.1" unreachable: true target {
    iqn: "iqn.2026-01.example:data" separate: true persistent: true } }
)";
constexpr char kAttackersVolume[] = R"(\\?\Volume{00000000-0000-0000-0000-000000000020}\)";
constexpr size_t kAttackers = 2;
constexpr size_t kGone = 3;

StageTargetRequest AttackersRequest() {
  return {.portals = {"10.6.6.6"}, .iqn = kIqn, .lun_id = "0", .target_path = kOtherTarget};
}
UnstageTargetRequest AttackersUnstage() { return {.target_path = kOtherTarget, .iqn = kIqn}; }

// The parameter is true for a node with MPIO.
class OtherSessionsTest : public TargetTest, public testing::WithParamInterface<bool> {
 protected:
  OtherSessionsTest() : TargetTest(GetParam(), kOtherPortals) {}
  static StageTargetRequest Request() { return GetParam() ? MultipathRequest() : TargetRequest(); }
  IscsiTarget& Target(NodeState& state, size_t portal) {
    return state.iscsi_portals[portal].targets[0];
  }
};
INSTANTIATE_TEST_SUITE_P(Mpio, OtherSessionsTest, testing::Bool());

TEST_P(OtherSessionsTest, AnotherPortalsTargetOfTheSameNameIsNotUsed) {
  const auto attacked = Stage(AttackersRequest());
  ASSERT_TRUE(attacked.ok()) << attacked.status();
  ASSERT_EQ(attacked->disk_number, 20u);
  const auto staged = Stage(Request());
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 10u);
  EXPECT_THAT(staged->failed_portals, IsEmpty());
  EXPECT_TRUE(At(0).connected && At(0).persistent);
  EXPECT_EQ(At(1).connected, GetParam());
  // The attacker's session must not become persistent with the victim's secret.
  EXPECT_TRUE(At(kAttackers).connected && !At(kAttackers).persistent);
  EXPECT_THAT(Stage(Request())->steps, IsEmpty());
  // The end of the victim's session must not end the attacker's, nor the reverse.
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_FALSE(At(0).connected || At(1).connected);
  EXPECT_TRUE(At(kAttackers).connected && Writes(kOtherTarget));
  ASSERT_TRUE(Stage(Request()).ok());
  ASSERT_TRUE(Unstage(AttackersUnstage()).ok());
  EXPECT_FALSE(At(kAttackers).connected);
  EXPECT_TRUE(At(0).connected && Writes());
}

// At each of the repeated call's calls to Windows, the victim's sessions end, and the attacker's
// disk gets the number of the victim's disk.
TEST_P(OtherSessionsTest, AnotherPortalsDiskThatGetsTheNumberOfTheMountedDiskIsNotUsed) {
  const auto first = Stage(Request());
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->disk_number, 10u);
  const NodeState state = node_->Snapshot();
  int calls = 1;
  for (int at = 1; at <= calls; ++at) {
    SCOPED_TRACE(at);
    const auto node = NodeIn(state);
    Process process(node.get());
    process.life.before_call = [&](int call) {
      // The disk does not change while the call holds a lock, because StageVolume then checks it.
      if (call != at || process.locks.size() > 0) return;
      node->core()->Change([&](NodeState& now) {
        for (const size_t portal : {0, 1}) {
          now.iscsi_portals[portal].reachable = Target(now, portal).connected = false;
        }
        IscsiTarget& attackers = Target(now, kAttackers);
        attackers.connected = true;
        attackers.session_chap = machine::simulator::ChapMode::kOneWay;
        attackers.disks = {Target(now, 0).disks[0]};
        attackers.disks[0].page83 = "other";
        attackers.disks[0].partitions.back().volume->id = *VolumeId::Parse(kAttackersVolume);
      });
    };
    const auto again = process.storage->StageTarget(process.context, Request());
    calls = std::max(calls, process.life.calls());
    EXPECT_TRUE(!again.ok() || again->volume_id == first->volume_id);
    EXPECT_FALSE(node->Snapshot().iscsi_portals[kAttackers].targets[0].persistent);
  }
}

TEST_P(OtherSessionsTest, ARequestWithoutTheSecretCannotUseAnAuthenticatedSession) {
  ASSERT_TRUE(Stage(Request()).ok());
  StageTargetRequest request = AttackersRequest();
  request.lun_id = "1";
  request.portals = {"10.0.0.5"};
  ExpectFailed(Stage(request), absl::StatusCode::kFailedPrecondition, "another authentication");
  request.portals = {"10.9.9.9"};
  ExpectFailed(Stage(request), absl::StatusCode::kUnavailable, "registering portal 10.9.9.9");
  request.chap = ChapUse::kChapOneWay;
  request.chap_username = "node";
  request.chap_secret = "not-the-secret";
  ExpectFailed(Stage(request), absl::StatusCode::kUnavailable, "registering portal 10.9.9.9");
  EXPECT_THAT(Stage(Request())->steps, IsEmpty());
}

TEST_P(OtherSessionsTest, ASessionOfAVanishedPortalDoesNotPreventANewOne) {
  Change([&](NodeState& state) { Target(state, kGone).connected = true; });
  const auto staged = Stage(Request());
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 10u);
  EXPECT_TRUE(At(0).connected);
  // With multipath the dead session does not prevent another, so it stays until UnstageTarget.
  EXPECT_EQ(At(kGone).connected, GetParam());
  EXPECT_THAT(Stage(Request())->steps, IsEmpty());
  ASSERT_TRUE(Unstage().ok());
  EXPECT_FALSE(At(0).connected || At(kGone).connected || At(kGone).persistent);
}

// The error must not name portals of another tenant.
TEST_P(OtherSessionsTest, WithoutMpioASecondPathToADiskInUseIsRefused) {
  ASSERT_TRUE(Stage(TargetRequest()).ok());
  StageTargetRequest request = TargetRequest();
  request.portals = {"10.0.0.6"};
  request.target_path = kOtherTarget;
  const auto refused = Stage(request);
  EXPECT_EQ(refused.ok(), GetParam());
  if (!refused.ok()) {
    ExpectFailed(refused, absl::StatusCode::kFailedPrecondition, "a second path to a disk in use");
    EXPECT_THAT(std::string(refused.status().message()), Not(HasSubstr("10.0.0.5")));
  }
  EXPECT_TRUE(Writes());
}

// The attacker's calls hang until their caller gives up. They must not delay the victim's calls.
TEST_P(OtherSessionsTest, ATenantsHungCallsDoNotDelayAnotherTenantsCalls) {
  const struct {
    const char* waits_at;
    const char* lun;
    // True if the victim stages its volume while the attacker's call waits, not earlier.
    bool is_late = false;
    const char* portal = "10.6.6.6";
  } rows[] = {{"wmi.Invoke/MSFT_iSCSITargetPortal.New", "0"},
              {"wmi.Invoke/MSFT_iSCSITargetPortal.Update", "0"},
              {"wmi.Invoke/MSFT_iSCSITarget.Connect", "0"},
              {"wmi.Invoke/MSFT_iSCSITarget.Connect", "0", true},
              {"wmi.Invoke/MSFT_iSCSITarget.Connect", "0", false, "10.0.0.5"},
              {"wmi.Invoke/MSFT_StorageSetting.UpdateHostStorageCache", "7"},
              {"wmi.Invoke/MSFT_Volume.Format", "0"}};
  const auto iscsi = iscsi::NewIscsiService(process_.deps);
  Peer peer;
  peer.tenant = "attacker";
  for (const auto& row : rows) {
    SCOPED_TRACE(row.waits_at);
    ASSERT_TRUE(row.is_late || Stage(Request()).ok());
    Change([&](NodeState& state) {
      state.iscsi_portals[kAttackers].registered = row.waits_at == rows[1].waits_at;
    });
    machine::simulator::FaultRule rule;
    rule.operation = row.waits_at;
    rule.times = 1;
    rule.latency = absl::Hours(1);
    ASSERT_TRUE(node_->InjectFault(rule).ok());
    absl::Notification gone, ended;
    std::thread attacker([&] {
      StageTargetRequest request = AttackersRequest();
      request.lun_id = row.lun;
      request.portals = {row.portal};
      const CallContext context(absl::InfiniteFuture(), &gone, &peer);
      const auto staged = process_.storage->StageTarget(context, request);
      EXPECT_TRUE(absl::IsCancelled(staged.status())) << staged.status();
      ended.Notify();
    });
    while (!node_->Snapshot().faults.empty() && !ended.HasBeenNotified()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_FALSE(ended.HasBeenNotified());
    const CallContext context = process_.context.WithTimeout(absl::Minutes(1));
    EXPECT_TRUE(!row.is_late || process_.storage->StageTarget(context, Request()).ok());
    const auto unstaged = process_.storage->UnstageTarget(context, UnstageRequest());
    EXPECT_TRUE(unstaged.ok()) << unstaged.status();
    EXPECT_FALSE(At(0).connected || At(1).connected);
    const iscsi::TargetPortal portal = {.target_address = "10.0.0.5", .target_port = 3260};
    EXPECT_TRUE(iscsi->DisconnectTarget(context, {.target_portal = portal, .iqn = kIqn}).ok());
    gone.Notify();
    attacker.join();
    ASSERT_TRUE(Unstage(AttackersUnstage()).ok());
  }
}

TEST_P(OtherSessionsTest, UnstageTargetKeepsASessionWhoseDiskIsOnline) {
  ASSERT_TRUE(Stage(Request()).ok());
  // The disk stays online, as a disk is before a driver mounts its volume.
  ASSERT_TRUE(process_.storage
                  ->UnstageVolume(process_.context, {.target_path = kTarget, .keep_online = true})
                  .ok());
  UnstageTargetRequest request = AttackersUnstage();
  request.remove_portals = {"10.0.0.5", "10.0.0.6"};
  const auto set_arrival = [this](SteadyTime time) {
    Change([&](NodeState& state) {
      state.iscsi_portals[0].targets[0].disks[0].partitions.back().arrives_at = time;
    });
  };
  for (const bool has_own_volume : {false, true}) {
    if (has_own_volume) {
      ASSERT_TRUE(Stage(AttackersRequest()).ok());
      set_arrival(SteadyTime::InfiniteFuture());
    }
    const auto unstaged = Unstage(request);
    ASSERT_TRUE(unstaged.ok()) << unstaged.status();
    EXPECT_THAT(unstaged->disks_in_use, ElementsAre(10u));
    EXPECT_THAT(unstaged->steps, Not(Contains(kRemovedPortal)));
    EXPECT_TRUE(At(0).connected && At(0).persistent);
    EXPECT_FALSE(At(kAttackers).connected);
  }
  set_arrival(SteadyTime::InfinitePast());
  // A repeated call of the victim finds the disk offline.
  ASSERT_TRUE(Stage(Request()).ok());
  ASSERT_TRUE(process_.Unstage().ok());
  EXPECT_THAT(Unstage()->steps, ElementsAre(kDisconnectedTarget));
}

// StageVolume runs at each of UnstageTarget's calls to Windows.
TEST_P(OtherSessionsTest, UnstageTargetKeepsASessionWhoseVolumeIsBeingStaged) {
  ASSERT_TRUE(Stage(Request()).ok());
  ASSERT_TRUE(process_.Unstage().ok());
  const NodeState state = node_->Snapshot();
  int staged = 0;
  int calls = 1;
  for (int at = 1; at <= calls; ++at) {
    SCOPED_TRACE(at);
    const auto node = NodeIn(state);
    Process unstaging(node.get());
    Process other(node.get());
    groups::HandlerDeps deps = other.deps;
    deps.locks = &unstaging.locks;
    const auto storage = NewStorageService(deps);
    bool is_staged = false;
    unstaging.life.before_call = [&](int call) {
      if (call != at) return;
      const CallContext hurried = other.context.WithTimeout(absl::Milliseconds(50));
      is_staged =
          storage->StageVolume(hurried, {.disk = {.page83 = "lun0"}, .target_path = kOtherTarget})
              .ok();
    };
    ASSERT_TRUE(unstaging.storage->UnstageTarget(unstaging.context, UnstageRequest()).ok());
    calls = unstaging.life.calls();
    staged += is_staged ? 1 : 0;
    EXPECT_EQ(node->Snapshot().iscsi_portals[0].targets[0].connected, is_staged);
  }
  EXPECT_GT(staged, 0);
  EXPECT_LT(staged, calls);
}

// The target's other disk is online, as before a driver mounts its volume. The disk disappears at
// each of UnstageTarget's calls to Windows, or stays.
TEST_P(OtherSessionsTest, UnstageTargetKeepsASessionWhileAnotherDiskIsOnline) {
  ASSERT_TRUE(StageLun("1", kOtherTarget).ok());
  ASSERT_TRUE(Stage(Request()).ok());
  ASSERT_TRUE(
      process_.storage
          ->UnstageVolume(process_.context, {.target_path = kOtherTarget, .keep_online = true})
          .ok());
  const NodeState state = node_->Snapshot();
  int calls = 1;
  int kept = 0;
  for (int at = 1; at <= calls; ++at) {
    SCOPED_TRACE(at);
    const auto node = NodeIn(state);
    Process process(node.get());
    process.life.before_call = [&](int call) {
      if (call == at) (void)node->DetachDisk(11);
    };
    const auto unstaged = process.storage->UnstageTarget(process.context, UnstageRequest());
    ASSERT_TRUE(unstaged.ok()) << unstaged.status();
    calls = std::max(calls, process.life.calls());
    const bool is_connected = node->Snapshot().iscsi_portals[0].targets[0].connected;
    EXPECT_EQ(is_connected, !unstaged->disks_in_use.empty());
    kept += is_connected ? 1 : 0;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, calls);
  EXPECT_THAT(Unstage()->disks_in_use, ElementsAre(11u));
  EXPECT_TRUE(At(0).connected);
}

// A further disk arrives at each of UnstageTarget's calls to Windows.
TEST_P(OtherSessionsTest, UnstageTargetNamesANewDiskThatKeepsASession) {
  ASSERT_TRUE(Stage(Request()).ok());
  const NodeState state = node_->Snapshot();
  int calls = 1;
  for (int at = 1; at <= calls; ++at) {
    SCOPED_TRACE(at);
    const auto node = NodeIn(state);
    Process process(node.get());
    process.life.before_call = [&](int call) {
      if (call != at) return;
      node->core()->Change([&](NodeState& now) {
        auto disk = Target(now, 0).disks[1];
        disk.number = 13;
        disk.page83 = "lun2";
        Target(now, 0).disks.push_back(disk);
      });
    };
    const auto unstaged = process.storage->UnstageTarget(process.context, UnstageRequest());
    ASSERT_TRUE(unstaged.ok()) << unstaged.status();
    calls = std::max(calls, process.life.calls());
    NodeState after = node->Snapshot();
    EXPECT_EQ(Target(after, 0).connected || Target(after, 1).connected,
              !unstaged->disks_in_use.empty());
  }
}

// Windows finds the attacker's disk in use. The first call also fails to end the victim's sessions.
TEST_P(OtherSessionsTest, ARepeatedUnstageTargetSucceedsIfOnlyAnotherTenantsSessionCannotEnd) {
  ASSERT_TRUE(Stage(Request()).ok());
  Change([&](NodeState& state) { Target(state, kAttackers).connected = true; });
  machine::simulator::FaultRule refuses;
  refuses.operation = "wmi.Invoke/MSFT_iSCSITarget.Disconnect";
  refuses.code = absl::StatusCode::kInternal;
  refuses.error.code = 0xEFFF0040;
  Change([&](NodeState& state) { state.faults = {refuses}; });
  const auto refused = Unstage();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  // The victim's sessions end first.
  machine::simulator::FaultRule ends;
  ends.operation = refuses.operation;
  ends.times = GetParam() ? 2 : 1;
  Change([&](NodeState& state) { state.faults = {ends, refuses}; });
  const auto again = Unstage();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->disks_in_use, ElementsAre(20u));
  EXPECT_FALSE(At(0).connected || At(1).connected);
  EXPECT_TRUE(At(kAttackers).connected);
}

TEST_P(OtherSessionsTest, UnstageTargetSucceedsIfAnotherTenantsDiskDoesNotAnswer) {
  ASSERT_TRUE(Stage(Request()).ok());
  machine::simulator::FaultRule dead;
  dead.operation = "win32.Control";
  dead.resource = R"(\\.\PhysicalDrive20)";
  dead.code = absl::StatusCode::kInternal;
  dead.error.code = 1117;
  Change([&](NodeState& state) {
    Target(state, kAttackers).connected = true;
    state.faults = {dead};
  });
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->disks_in_use, ElementsAre(20u));
  EXPECT_FALSE(At(0).connected || At(1).connected);
  EXPECT_TRUE(At(kAttackers).connected);
}

// The volume in the middle is mounted.
TEST_P(OtherSessionsTest, ADiskIsInUseIfAnyOfItsVolumesIsMounted) {
  ASSERT_TRUE(StageLun("1", kOtherTarget).ok());
  ASSERT_TRUE(Stage(Request()).ok());
  Change([&](NodeState& state) {
    auto& partitions = Target(state, 0).disks[1].partitions;
    auto before = partitions.back();
    auto behind = partitions.back();
    before.offset_bytes -= 512;
    behind.offset_bytes += 512;
    before.volume->id = *VolumeId::Parse(R"(\\?\Volume{00000000-0000-0000-0000-000000000011}\)");
    behind.volume->id = *VolumeId::Parse(R"(\\?\Volume{00000000-0000-0000-0000-000000000012}\)");
    partitions.insert(partitions.end() - 1, before);
    partitions.push_back(behind);
  });
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->disks_in_use, ElementsAre(11u));
  EXPECT_TRUE(At(0).connected && Writes(kOtherTarget));
}

// A disk without a location counts as having the LUN only if it is its session's only disk.
TEST_P(OtherSessionsTest, ADiskWithoutALocationMatchesALunOnlyIfItsSessionShowsNoOtherDisk) {
  Change([&](NodeState& state) {
    for (const size_t portal : {size_t{0}, kAttackers}) {
      Target(state, portal).connected = true;
      Target(state, portal).session_chap = machine::simulator::ChapMode::kNone;
      for (auto& disk : Target(state, portal).disks) disk.location.clear();
    }
  });
  StageTargetRequest request = AttackersRequest();
  request.portals = {"10.0.0.5", "10.6.6.6"};
  const auto staged = Stage(request);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 20u);
}

// The array adds a LUN after the volume was staged.
TEST_P(OtherSessionsTest, UnstageTargetUnmountsADiskWhoseLunIsNotKnown) {
  std::vector<machine::simulator::Disk> more;
  Change([&](NodeState& state) {
    auto& disks = Target(state, 0).disks;
    disks[0].location.clear();
    more.assign(disks.begin() + 1, disks.end());
    disks.resize(1);
  });
  ASSERT_TRUE(Stage(Request()).ok());
  Change([&](NodeState& state) {
    auto& disks = Target(state, 0).disks;
    disks.insert(disks.end(), more.begin(), more.end());
  });
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_FALSE(At(0).connected || At(1).connected);
}

// Tests faults of targets that operators reported.
class TargetFaultsTest : public TargetTest {};

// Windows keeps the session with the old address, and the disks disappear.
TEST_F(TargetFaultsTest, AMovedTargetIsStagedByItsNewPortal) {
  ASSERT_TRUE(Stage(TargetRequest()).ok());
  Change([](NodeState& state) {
    state.iscsi_portals[0].reachable = false;
    // The volume was not unmounted.
    state.iscsi_portals[0].targets[0].persistent = true;
  });
  ExpectFailed(Stage(TargetRequest()), absl::StatusCode::kNotFound,
               "by its sessions with 10.0.0.5:3260. Check that the array gives the node this LUN; "
               "if the target has moved, name its portal");
  StageTargetRequest moved = TargetRequest();
  moved.portals = {"10.0.0.6"};
  const auto staged = Stage(moved);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 10u);
  EXPECT_FALSE(At(0).connected || At(0).persistent);
  EXPECT_TRUE(At(1).connected && Writes());
}

TEST_F(TargetFaultsTest, DiscoveryUsesTheRequestsChapSecret) {
  Change([](NodeState& state) { state.iscsi_portals[0].discovery_chap = true; });
  StageTargetRequest without = TargetRequest();
  without.chap = ChapUse::kChapUnused;
  without.chap_username.clear();
  without.chap_secret.clear();
  ExpectFailed(Stage(without), absl::StatusCode::kFailedPrecondition,
               "Authentication failed (0xEFFF0009)");
  const auto staged = Stage(TargetRequest());
  ASSERT_TRUE(staged.ok()) << staged.status();
}

TEST_F(TargetFaultsTest, ANewLunOfAConnectedTargetIsFoundByARescan) {
  Change([](NodeState& state) { state.iscsi_portals[0].targets[0].disks[1].awaits_rescan = true; });
  ASSERT_TRUE(Stage(TargetRequest()).ok());
  Change([](NodeState& state) { state.iscsi_portals[0].targets[0].disks[1].awaits_rescan = true; });
  const auto staged = StageLun("1", kOtherTarget);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_THAT(staged->steps, testing::Contains(StorageStep::kRescanned));
}

}  // namespace
}  // namespace csi_proxy::storage
