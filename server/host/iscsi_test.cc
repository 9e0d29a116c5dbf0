#include <thread>

#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "server/host/testing.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::host {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr char kPortals[] = R"(
  iscsi_portal {
    address: "10.0.0.5"
    target { iqn: "iqn.x:open" disk { number: 21 size_bytes: 1073741824 }
             disk { number: 20 size_bytes: 1073741824 } }
  }
  iscsi_portal { address: "10.0.0.6" unreachable: true }
)";
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

class IscsiTest : public testing::Test {
 protected:
  IscsiHost& iscsi() { return host_->iscsi(); }
  absl::Status Connect(const std::string& iqn) {
    return iscsi().Connect(context_, kPortal, iqn, {});
  }

  const IscsiPortal kPortal = {"10.0.0.5", 3260};
  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode(kPortals);
  std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

// The values are from learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers.
TEST_F(IscsiTest, InitiatorErrorsHaveTheirTextAndCode) {
  const struct {
    uint32_t code;
    const char* text;
    absl::StatusCode status;
  } kRows[] = {
      {0xEFFF0002, "Login failed", absl::StatusCode::kFailedPrecondition},
      {0xEFFF0003, "Connection failed", absl::StatusCode::kUnavailable},
      {0xEFFF0009, "Authentication failed", absl::StatusCode::kFailedPrecondition},
      {0xEFFF000A, "Authorization failed", absl::StatusCode::kFailedPrecondition},
      {0xEFFF000B, "Not found", absl::StatusCode::kNotFound},
      {0xEFFF000C, "Target removed", absl::StatusCode::kNotFound},
      {0xEFFF0013, "Service unavailable", absl::StatusCode::kUnavailable},
      {0xEFFF0014, "Out of resources", absl::StatusCode::kUnavailable},
      {0xEFFF0029, "Target not found", absl::StatusCode::kNotFound},
      {0xEFFF003E, "The initiator service is not running", absl::StatusCode::kFailedPrecondition},
      {0xEFFF0015, "Connection exists already", absl::StatusCode::kAlreadyExists},
      {0xEFFF0016, "Session exists already", absl::StatusCode::kAlreadyExists},
      {0xEFFF001C, "Session not found", absl::StatusCode::kNotFound},
      {0xEFFF0032, "Portal exists already", absl::StatusCode::kAlreadyExists},
      {0xEFFF003F, "Target already logged in", absl::StatusCode::kAlreadyExists},
      {0xEFFF0043, "Portal not found", absl::StatusCode::kNotFound},
  };
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  for (const auto& row : kRows) {
    FaultRule rule;
    rule.operation = "wmi.Invoke/MSFT_iSCSITarget.Connect";
    rule.times = 1;
    rule.code = kInternal;
    rule.error.code = row.code;
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
    EXPECT_THAT(Connect("iqn.x:open"),
                FailsWith(row.status, absl::StrFormat("%s (0x%08X)", row.text, row.code)));
  }
}

TEST_F(IscsiTest, ASessionWhoseLogoutFailsStaysPersistent) {
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  ASSERT_THAT(Connect("iqn.x:open"), IsOk());
  node_->core()->Change(
      [](NodeState& state) { state.iscsi_portals[0].targets[0].persistent = true; });
  const auto persistent = [&] { return node_->Snapshot().iscsi_portals[0].targets[0].persistent; };
  FaultRule rule;
  rule.operation = "wmi.Invoke/MSFT_iSCSITarget.Disconnect";
  rule.times = 1;
  rule.code = kInternal;
  rule.error.code = 0xEFFF0040;
  ASSERT_THAT(node_->InjectFault(rule), IsOk());
  EXPECT_THAT(iscsi().Disconnect(context_, kPortal, "iqn.x:open"),
              FailsWith(kPrecondition, "A disk of the session is in use"));
  EXPECT_TRUE(persistent());
  ASSERT_THAT(iscsi().Disconnect(context_, kPortal, "iqn.x:open"), IsOk());
  EXPECT_FALSE(persistent());
}

// The service stops before Windows has ended the session.
TEST_F(IscsiTest, ASessionWhoseLogoutIsCancelledStaysPersistent) {
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  ASSERT_THAT(Connect("iqn.x:open"), IsOk());
  FaultRule rule;
  rule.operation = "wmi.Invoke/MSFT_iSCSITarget.Disconnect";
  rule.latency = absl::Hours(1);
  node_->core()->Change([&](NodeState& state) {
    state.iscsi_portals[0].targets[0].persistent = true;
    state.faults = {rule};
  });
  const auto persistent = [&] { return node_->Snapshot().iscsi_portals[0].targets[0].persistent; };
  absl::Notification gone;
  std::thread call([&] {
    const CallContext leaves(absl::InfiniteFuture(), &gone);
    EXPECT_THAT(iscsi().Disconnect(leaves, kPortal, "iqn.x:open"),
                HasCode(absl::StatusCode::kCancelled));
  });
  while (persistent()) std::this_thread::yield();
  gone.Notify();
  call.join();
  EXPECT_TRUE(host_->EndRuns(absl::InfiniteDuration()));
  EXPECT_TRUE(persistent());
}

// Two portals offer one target. After the login, the portals need not be registered.
TEST_F(IscsiTest, OneTargetCanHaveSessionsOverTwoPortals) {
  node_->core()->Change([](NodeState& state) {
    state.behaviour.mpio = true;
    state.iscsi_portals[1].reachable = true;
    state.iscsi_portals[1].targets.emplace_back().iqn = "iqn.x:open";
  });
  const IscsiPortal second = {"10.0.0.6", 3260};
  const auto open = [&](const IscsiPortal& portal, SessionOptions options) {
    return iscsi().OpenSession(context_, portal, "iqn.X:open", {}, options).status();
  };
  EXPECT_THAT(open(kPortal, {}), FailsWith(kNotFound, "no portal offers target iqn.X:open"));
  EXPECT_THAT(*iscsi().GetSessions(context_, "iqn.x:open"), IsEmpty());
  EXPECT_THAT(iscsi().EndSessions(context_, "iqn.x:open", {"x"}), IsOk());
  for (const IscsiPortal& portal : {kPortal, second}) {
    ASSERT_THAT(iscsi().AddPortal(context_, portal), IsOk());
  }
  EXPECT_THAT(iscsi().ListConnected(context_, second), Yields(std::vector<std::string>{}));
  const auto opened = iscsi().OpenSession(context_, kPortal, "iqn.X:open", {}, {});
  ASSERT_THAT(opened, IsOk());
  EXPECT_THAT(open(second, {}), HasCode(kExists));
  EXPECT_THAT(open(second, {.is_persistent = true, .allow_multipath = true}), IsOk());
  EXPECT_THAT(open(second, {.allow_multipath = true}), HasCode(kExists));
  EXPECT_THAT(iscsi().ListConnected(context_, second),
              Yields(std::vector<std::string>{"iqn.x:open"}));
  for (const IscsiPortal& portal : {kPortal, second}) {
    ASSERT_THAT(iscsi().RemovePortal(context_, portal), IsOk());
  }
  EXPECT_THAT(iscsi().ListConnected(context_, second), HasCode(kNotFound));
  const auto sessions = iscsi().GetSessions(context_, "IQN.x:open");
  ASSERT_THAT(sessions, IsOk());
  ASSERT_THAT(*sessions, SizeIs(2));
  const IscsiSession& first = sessions->at(0);
  const IscsiSession& other = sessions->at(1);
  EXPECT_EQ(*opened, first.id);
  EXPECT_FALSE(first.is_persistent);
  EXPECT_TRUE(other.is_persistent);
  EXPECT_EQ(first.connections.at(0).portal, kPortal);
  EXPECT_EQ(other.connections.at(0).portal, second);
  for (const IscsiSession& session : *sessions) {
    EXPECT_EQ(session.chap, ChapMode::kNone);
    ASSERT_THAT(session.connections, SizeIs(1));
    EXPECT_EQ(session.connections[0].disks, (std::vector<uint32_t>{20, 21}));
    EXPECT_TRUE(session.Shows(21));
    EXPECT_FALSE(session.Shows(22));
  }
  // Only the sessions with the given ids change.
  ASSERT_THAT(iscsi().MakePersistent(context_, "iqn.x:open", {"x"}, {}, true), IsOk());
  EXPECT_FALSE(iscsi().GetSessions(context_, "iqn.x:open")->at(0).is_persistent);
  ASSERT_THAT(iscsi().MakePersistent(context_, "iqn.x:open", {first.id}, {}, true), IsOk());
  EXPECT_TRUE(iscsi().GetSessions(context_, "iqn.x:open")->at(0).is_persistent);
  ASSERT_THAT(iscsi().EndSessions(context_, "iqn.x:open", {first.id}), IsOk());
  const auto left = iscsi().GetSessions(context_, "iqn.x:open");
  ASSERT_THAT(*left, SizeIs(1));
  EXPECT_EQ(left->at(0).id, other.id);
  ASSERT_THAT(iscsi().EndSessions(context_, "iqn.x:open", {other.id}), IsOk());
  EXPECT_THAT(*iscsi().GetSessions(context_, "iqn.x:open"), IsEmpty());
  node_->Reboot();
  EXPECT_THAT(*iscsi().GetSessions(context_, "iqn.x:open"), IsEmpty());
}

// The simulated WMI. Another program ends all sessions with the targets of the first portal just
// before each call of `method`.
class EndingSession final : public machine::simulator::wmi::SimulatedSession {
 public:
  EndingSession(machine::simulator::Core* core, std::string method)
      : SimulatedSession(core), core_(*core), method_(std::move(method)) {}

  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext& context, cim::Namespace space,
                                             const std::string& path, const std::string& method,
                                             const cim::Arguments& arguments) override {
    if (method == method_) {
      core_.Change([](NodeState& state) {
        for (auto& target : state.iscsi_portals[0].targets) target.connected = false;
      });
    }
    return SimulatedSession::DoInvoke(context, space, path, method, arguments);
  }

 private:
  machine::simulator::Core& core_;
  const std::string method_;
};

TEST_F(IscsiTest, DisconnectSucceedsIfAnotherProgramEndsTheSession) {
  for (const char* method : {"Unregister", "Disconnect"}) {
    SCOPED_TRACE(method);
    Host host(std::make_unique<EndingSession>(node_->core(), method),
              machine::simulator::NewSimulatedOs(node_->core()));
    ASSERT_THAT(host.iscsi().AddPortal(context_, kPortal), IsOk());
    ASSERT_THAT(
        host.iscsi().OpenSession(context_, kPortal, "iqn.x:open", {}, {.is_persistent = true}),
        IsOk());
    EXPECT_THAT(host.iscsi().Disconnect(context_, kPortal, "iqn.x:open"), IsOk());
    EXPECT_THAT(host.iscsi().RemovePortal(context_, kPortal), IsOk());
  }
}

TEST_F(IscsiTest, ConnectIsUnavailableIfThePortalIsUnreachable) {
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  ASSERT_THAT(node_->SetServerReachable("10.0.0.5", false), IsOk());
  EXPECT_THAT(Connect("iqn.x:open"), HasCode(kUnavailable));
}

}  // namespace
}  // namespace csi_proxy::host
