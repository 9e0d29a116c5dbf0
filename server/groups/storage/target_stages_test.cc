// Tests calls of another tenant after each call to Windows of a StageTarget call.
#include <algorithm>
#include <functional>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/groups/node_services.h"
#include "server/groups/storage/target_testing.h"

namespace csi_proxy::storage {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

// The parameter is true for a node with MPIO.
class TargetStagesTest : public TargetTest, public testing::WithParamInterface<bool> {
 protected:
  TargetStagesTest() : TargetTest(GetParam()) {}
  static bool IsConnected(Machine& node) {
    const NodeState state = node.Snapshot();
    return state.iscsi_portals[0].targets[0].connected ||
           state.iscsi_portals[1].targets[0].connected;
  }
  static machine::simulator::Disk DiskOf(Machine& node) {
    return node.Snapshot().iscsi_portals[0].targets[0].disks[0];
  }

  // One StageTarget call, and a second set of dependencies for another tenant's call.
  struct Round {
    Machine& node;
    groups::HandlerDeps others;
    // Has a short deadline, because StageTarget may hold a lock.
    CallContext context;
    // Cancels StageTarget, as if its caller had left.
    absl::Notification gone = {};
    // True if UnstageTarget has kept a session.
    bool has_kept = false;

    void Unstage() {
      const auto unstaged = NewStorageService(others)->UnstageTarget(
          context, {.target_path = kOtherTarget,
                    .iqn = absl::AsciiStrToUpper(kIqn),
                    .remove_portals = {"10.0.0.5", "10.0.0.6"}});
      EXPECT_TRUE(unstaged.ok() || absl::IsDeadlineExceeded(unstaged.status()))
          << unstaged.status();
      if (!unstaged.ok() || unstaged->warnings.empty()) return;
      // StageTarget holds a portal's lock, so the portal also stays.
      const auto is_kept = HasSubstr("another call is staging a disk");
      EXPECT_THAT(unstaged->warnings, Each(AnyOf(is_kept, HasSubstr("portal 10.0.0."))));
      has_kept = has_kept || testing::Value(unstaged->warnings, testing::Contains(is_kept));
    }
  };

  // For each call to Windows of a StageTarget on a node in `state`: runs StageTarget, with `act`
  // after that call to Windows, and then `judge`. A first round counts the calls, and runs `act`
  // after each of them if `also_in_all`.
  void AtEachCall(const NodeState& state, const std::function<void(Round&)>& act,
                  const std::function<void(Round&, Process&, const Staged&)>& judge,
                  bool also_in_all = false) {
    int calls = 0;
    for (int at = 0; at <= calls; ++at) {
      SCOPED_TRACE(absl::StrCat("at call ", at));
      const auto node = NodeIn(state);
      Process process(node.get());
      Process other(node.get());
      Round round = {*node, process.deps, other.context};
      round.others.host = other.host.get();
      process.life.after_call = [&](int call) {
        round.context = other.context.WithTimeout(absl::Milliseconds(20));
        if (call == at || (at == 0 && also_in_all)) act(round);
      };
      const CallContext context(absl::InfiniteFuture(), &round.gone);
      const auto staged = process.storage->StageTarget(context, request_);
      calls = std::max(calls, process.life.calls());
      judge(round, process, staged);
      EXPECT_EQ(process.locks.size(), 0u);
    }
  }

  StageTargetRequest request_ = GetParam() ? MultipathRequest() : TargetRequest();
};
INSTANTIATE_TEST_SUITE_P(Mpio, TargetStagesTest, testing::Bool());

// The session exists already, or the call opens it.
TEST_P(TargetStagesTest, UnstageTargetKeepsASessionThatIsBeingStaged) {
  const NodeState fresh = node_->Snapshot();
  ASSERT_TRUE(Stage(request_).ok());
  ASSERT_TRUE(process_.Unstage().ok());
  for (const NodeState& state : {fresh, node_->Snapshot()}) {
    int kept = 0;
    AtEachCall(
        state, [](Round& round) { round.Unstage(); },
        [&](Round& round, Process&, const Staged& staged) {
          ASSERT_TRUE(staged.ok()) << staged.status();
          EXPECT_EQ(staged->disk_number, 10u);
          EXPECT_THAT(staged->failed_portals, IsEmpty());
          EXPECT_TRUE(IsConnected(round.node));
          if (round.has_kept) ++kept;
        },
        true);
    EXPECT_GT(kept, 0);
  }
}

// Windows shows the address of the portal. The request gives its DNS name instead.
TEST_P(TargetStagesTest, UnstageTargetKeepsASessionThatIsBeingOpened) {
  if (GetParam()) return;
  NodeState state = node_->Snapshot();
  state.iscsi_portals[0].portal.address = "array.example";
  request_.portals = {"array.example"};
  AtEachCall(
      state,
      [](Round& round) {
        round.node.core()->Change([](NodeState& now) {
          auto& portal = now.iscsi_portals[0];
          if (portal.targets[0].connected) portal.portal.address = "10.0.0.5";
        });
        round.Unstage();
      },
      [](Round&, Process&, const Staged& staged) { EXPECT_TRUE(staged.ok()) << staged.status(); });
}

// The kubelet does not repeat an UnstageTarget that has succeeded.
TEST_P(TargetStagesTest, ACancelledStageTargetEndsTheSessionThatUnstageTargetKeptForIt) {
  int ended = 0;
  AtEachCall(
      node_->Snapshot(),
      [](Round& round) {
        round.Unstage();
        round.gone.Notify();
      },
      [&](Round& round, Process&, const Staged& staged) {
        if (staged.ok() || !round.has_kept) return;
        // UnstageTarget also keeps a session whose disk is online with a volume.
        EXPECT_TRUE(!IsConnected(round.node) || DiskOf(round.node).online);
        if (!IsConnected(round.node)) ++ended;
      });
  EXPECT_GT(ended, 0);
}

// DisconnectTarget behaves as in its first release, even while a disk is being staged.
TEST_P(TargetStagesTest, DisconnectTargetEndsASessionThatIsBeingStaged) {
  int ended = 0;
  AtEachCall(
      node_->Snapshot(),
      [&](Round& round) {
        if (!IsConnected(round.node) || DiskOf(round.node).online) return;
        const auto done =
            iscsi::NewIscsiService(round.others)
                ->DisconnectTarget(round.context, {.target_portal = {"10.0.0.5", 0}, .iqn = kIqn});
        EXPECT_TRUE(done.ok() || absl::IsDeadlineExceeded(done.status())) << done.status();
        if (!done.ok()) return;
        EXPECT_FALSE(IsConnected(round.node));
        ++ended;
      },
      [&](Round&, Process& process, const Staged&) {
        const auto repeated = process.storage->StageTarget(CallContext(), request_);
        EXPECT_TRUE(repeated.ok()) << repeated.status();
      });
  EXPECT_GT(ended, 0);
}

// UnstageTarget has begun to end the session, or to remove the portal.
TEST_P(TargetStagesTest, StageTargetSucceedsDuringAnEarlierUnstageTarget) {
  for (const char* const begun :
       {"wmi.Invoke/MSFT_iSCSITarget.Disconnect", "wmi.Invoke/MSFT_iSCSITargetPortal.Remove"}) {
    SCOPED_TRACE(begun);
    ASSERT_TRUE(Stage(request_).ok());
    machine::simulator::FaultRule slow;
    slow.operation = begun;
    slow.times = 1;
    slow.latency = absl::Milliseconds(200);
    ASSERT_TRUE(node_->InjectFault(slow).ok());
    slow.operation = "wmi.Invoke/MSFT_iSCSITarget.Connect";
    slow.latency = absl::Milliseconds(400);
    ASSERT_TRUE(node_->InjectFault(slow).ok());
    std::jthread unstaging([&] {
      UnstageTargetRequest request = UnstageRequest();
      request.remove_portals = {"10.0.0.5"};
      EXPECT_TRUE(Unstage(request).ok());
    });
    while (node_->Snapshot().faults.size() > 1) absl::SleepFor(absl::Milliseconds(1));
    const auto staged = Stage(request_);
    ASSERT_TRUE(staged.ok()) << staged.status();
    EXPECT_TRUE(Writes());
  }
}

}  // namespace
}  // namespace csi_proxy::storage
