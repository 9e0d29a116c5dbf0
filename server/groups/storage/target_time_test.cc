// Tests the time that StageTarget spends on portals that do not answer. The clock is the clock of
// random_nodes_test.cc, so sleeps do not wait.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/groups/storage/target_testing.h"

namespace csi_proxy::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kPortals = 6;

// Returns a node with MPIO and six portals of the target. Only portal `live` answers. Registering
// another portal takes 15 seconds and fails.
std::unique_ptr<Machine> NodeWithDeadPortals(size_t live) {
  std::string more;
  for (size_t i = 2; i < kPortals; ++i) {
    absl::StrAppend(&more, R"(iscsi_portal { address: "10.0.1.)", i, R"(" target { iqn: ")", kIqn,
                    R"(" } } )");
  }
  NodeState state = TargetState(true, more);
  for (size_t i = 0; i < kPortals; ++i) {
    if (i == live) continue;
    state.iscsi_portals[i].reachable = false;
    machine::simulator::FaultRule rule;
    rule.operation = "wmi.Invoke/MSFT_iSCSITargetPortal.New";
    rule.resource = absl::StrCat(state.iscsi_portals[i].portal.address, ":3260");
    rule.latency = absl::Seconds(15);
    state.faults.push_back(rule);
  }
  return NodeIn(state);
}

StageTargetRequest RequestOfAll(Machine& node, bool multipath) {
  StageTargetRequest request = TargetRequest();
  request.multipath = multipath;
  request.portals.clear();
  for (const auto& portal : node.Snapshot().iscsi_portals) {
    request.portals.push_back(portal.portal.address);
  }
  return request;
}

TEST(TargetTimeTest, UnreachablePortalsLeaveTimeForTheOneThatAnswers) {
  for (const bool multipath : {false, true}) {
    for (size_t live = 0; live < kPortals; ++live) {
      SCOPED_TRACE(absl::StrCat("portal ", live, multipath ? ", multipath" : ""));
      const auto node = NodeWithDeadPortals(live);
      Process process(node.get());
      const auto staged = process.storage->StageTarget(CallContext().WithTimeout(absl::Minutes(1)),
                                                       RequestOfAll(*node, multipath));
      ASSERT_TRUE(staged.ok()) << staged.status();
      EXPECT_EQ(staged->failed_portals.size(), multipath ? kPortals - 1 : live);
    }
  }
}

TEST(TargetTimeTest, ARepeatedCallFirstTriesPortalsThatHaveNotFailed) {
  for (const int seconds : {4, 8, 12, 20}) {
    for (const bool multipath : {false, true}) {
      for (size_t live = 0; live < kPortals; ++live) {
        SCOPED_TRACE(absl::StrCat(seconds, " s, portal ", live, multipath ? ", multipath" : ""));
        const auto node = NodeWithDeadPortals(live);
        machine::simulator::FaultRule slow;
        slow.operation = "wmi.Invoke/MSFT_iSCSITargetPortal.New";
        slow.latency = absl::Seconds(3);
        ASSERT_TRUE(node->InjectFault(slow).ok());
        Process process(node.get());
        const StageTargetRequest request = RequestOfAll(*node, multipath);
        absl::StatusOr<StageTargetResponse> staged;
        size_t calls = 0;
        do {
          staged = process.storage->StageTarget(CallContext().WithTimeout(absl::Seconds(seconds)),
                                                request);
        } while (!staged.ok() && ++calls < kPortals);
        EXPECT_TRUE(staged.ok()) << staged.status();
      }
    }
  }
}

TEST(TargetTimeTest, FailedPortalsAreRetriedOldestFailureFirst) {
  FailedPortals failed;
  Peer peers[2];
  peers[0].tenant = "victim";
  const CallContext victim = CallContext().From(&peers[0], "");
  const CallContext other = CallContext().From(&peers[1], "");
  failed.Note(victim, "iqn.5", "a");
  for (int i = 0; i < 20; ++i) failed.Note(other, "iqn.99", absl::StrCat(i));
  EXPECT_THAT(failed.Order(other, "IQN.99", {"19", "3", "4", "b"}), ElementsAre(3, 1, 2, 0));
  failed.Forget(other, "iqn.99");
  EXPECT_THAT(failed.Order(other, "iqn.99", {"19", "b"}), ElementsAre(0, 1));
  // Another tenant's failures and successes have no effect.
  failed.Forget(other, "iqn.5");
  EXPECT_THAT(failed.Order(victim, "iqn.5", {"a", "b"}), ElementsAre(1, 0));
}

TEST(TargetTimeTest, TheErrorOfALateCallNamesTheTriedPortals) {
  const auto node = NodeWithDeadPortals(1);
  Process process(node.get());
  const absl::Time begin = absl::Now();
  const absl::Status late =
      process.storage->StageTarget(CallContext().WithTimeout(absl::Seconds(10)), TargetRequest())
          .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(std::string(late.message()),
              HasSubstr("; portals tried: 10.0.0.5 (no success within 10s"));
  EXPECT_EQ(absl::Now() - begin, absl::Seconds(10));
  // Without a deadline all portals together have two minutes.
  StageTargetRequest request = TargetRequest();
  for (int i = 0; i < 15; ++i) request.portals.push_back(absl::StrCat("10.2.0.", i));
  node->core()->Change([](NodeState& state) {
    state.faults.resize(1);
    state.faults[0].resource.clear();
    state.faults[0].latency = absl::Hours(1);
  });
  const absl::Status none = process.storage->StageTarget(CallContext(), request).status();
  EXPECT_TRUE(absl::IsUnavailable(none)) << none;
  EXPECT_LE(absl::Now() - begin, absl::Seconds(130));
}

}  // namespace
}  // namespace csi_proxy::storage
