#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/host/testing.h"

namespace csi_proxy::host {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr char kPortals[] = R"(
  iscsi_portal {
    address: "10.0.0.5"
    target { iqn: "iqn.x:open" disk { number: 21 size_bytes: 1073741824 }
             disk { number: 20 size_bytes: 1073741824 } }
    target { iqn: "iqn.x:chap" chap: ONE_WAY username: "node" secret: "twelve-bytes"
             disk { number: 22 size_bytes: 1073741824 } }
    target { iqn: "iqn.x:mutual" chap: MUTUAL username: "node" secret: "twelve-bytes"
             mutual_secret: "other-secret" }
  }
  iscsi_portal { address: "10.0.0.6" unreachable: true }
)";
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

class IscsiTest : public testing::Test {
 protected:
  IscsiHost& iscsi() { return host_->iscsi(); }
  absl::Status Connect(const std::string& iqn, ChapMode mode = ChapMode::kNone,
                       absl::string_view username = "", absl::string_view secret = "") {
    return iscsi().Connect(context_, kPortal, iqn,
                           {mode, std::string(username), Secret(std::string(secret))});
  }

  const IscsiPortal kPortal = {"10.0.0.5", 3260};
  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode(kPortals);
  std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

TEST_F(IscsiTest, RegistersPortalsThatAnswer) {
  EXPECT_THAT(iscsi().DiscoverTargets(context_, kPortal), HasCode(kNotFound));
  EXPECT_THAT(iscsi().RemovePortal(context_, kPortal), HasCode(kNotFound));
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  EXPECT_THAT(iscsi().AddPortal(context_, kPortal), HasCode(kExists));
  EXPECT_THAT(iscsi().AddPortal(context_, {"10.0.0.5", 3261}), HasCode(kUnavailable));
  EXPECT_THAT(iscsi().AddPortal(context_, {"10.0.0.6", 3260}), HasCode(kUnavailable));
  EXPECT_THAT(iscsi().ListPortals(context_), Yields(std::vector<IscsiPortal>{kPortal}));
  EXPECT_THAT(iscsi().DiscoverTargets(context_, kPortal),
              Yields(std::vector<std::string>{"iqn.x:open", "iqn.x:chap", "iqn.x:mutual"}));
  // The portal does not answer: the targets known from before are returned.
  ASSERT_THAT(node_->SetServerReachable("10.0.0.5", false), IsOk());
  EXPECT_THAT(iscsi().DiscoverTargets(context_, kPortal),
              Yields(std::vector<std::string>{"iqn.x:open", "iqn.x:chap", "iqn.x:mutual"}));
  EXPECT_THAT(iscsi().RemovePortal(context_, kPortal), IsOk());
  EXPECT_THAT(iscsi().ListPortals(context_), Yields(std::vector<IscsiPortal>{}));
}

TEST_F(IscsiTest, AConnectedTargetBringsItsDisks) {
  EXPECT_THAT(Connect("iqn.x:open"), HasCode(kNotFound));
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  EXPECT_THAT(iscsi().IsConnected(context_, kPortal, "iqn.x:open"), Yields(false));
  EXPECT_THAT(iscsi().IsConnected(context_, kPortal, "iqn.x:none"), HasCode(kNotFound));
  EXPECT_THAT(iscsi().GetTargetDisks(context_, kPortal, "iqn.x:open"),
              Yields(std::vector<uint32_t>{}));
  EXPECT_THAT(iscsi().GetTargetDisks(context_, kPortal, "iqn.x:none"), HasCode(kNotFound));
  EXPECT_THAT(iscsi().Disconnect(context_, kPortal, "iqn.x:open"), HasCode(kNotFound));
  EXPECT_THAT(host_->disk().GetSize(context_, 20), HasCode(kNotFound));

  ASSERT_THAT(Connect("IQN.X:OPEN"), IsOk());
  EXPECT_THAT(Connect("iqn.x:open"), HasCode(kExists));
  EXPECT_THAT(iscsi().IsConnected(context_, kPortal, "iqn.x:open"), Yields(true));
  EXPECT_THAT(iscsi().GetTargetDisks(context_, kPortal, "iqn.x:open"),
              Yields(std::vector<uint32_t>{20, 21}));
  ASSERT_THAT(host_->disk().InitializeGpt(context_, 20), IsOk());
  ASSERT_THAT(host_->disk().CreateBasicPartition(context_, 20), IsOk());
  const std::vector<VolumeId> volumes = *host_->volume().ListVolumes(context_, 20, 0);
  ASSERT_EQ(volumes.size(), 1u);

  // The session outlives its portal. The disk disappears with it and comes back unchanged.
  ASSERT_THAT(iscsi().RemovePortal(context_, kPortal), IsOk());
  EXPECT_THAT(iscsi().Disconnect(context_, kPortal, "iqn.x:open"), HasCode(kNotFound));
  EXPECT_THAT(host_->volume().GetDiskNumber(context_, volumes[0]), Yields(20u));
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  ASSERT_THAT(iscsi().Disconnect(context_, kPortal, "iqn.x:open"), IsOk());
  EXPECT_THAT(host_->volume().GetDiskNumber(context_, volumes[0]), HasCode(kNotFound));
  ASSERT_THAT(Connect("iqn.x:open"), IsOk());
  EXPECT_THAT(host_->volume().GetDiskNumber(context_, volumes[0]), Yields(20u));
}

TEST_F(IscsiTest, OneWayChap) {
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  EXPECT_THAT(Connect("iqn.x:chap"), HasCode(kPrecondition));
  EXPECT_THAT(Connect("iqn.x:chap", ChapMode::kOneWay, "other", "twelve-bytes"),
              HasCode(kPrecondition));
  const absl::Status wrong = Connect("iqn.x:chap", ChapMode::kOneWay, "node", "wrong-secret");
  EXPECT_THAT(wrong, FailsWith(kPrecondition, "Authentication failed"));
  EXPECT_EQ(wrong.message().find("wrong-secret"), absl::string_view::npos);
  EXPECT_THAT(Connect("iqn.x:chap", ChapMode::kOneWay, "node", "twelve-bytes"), IsOk());
}

TEST_F(IscsiTest, MutualChapNeedsBothSecrets) {
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  const auto connect = [&](ChapMode mode) {
    return Connect("iqn.x:mutual", mode, "node", "twelve-bytes");
  };
  EXPECT_THAT(connect(ChapMode::kOneWay), HasCode(kPrecondition));
  EXPECT_THAT(connect(ChapMode::kMutual), HasCode(kPrecondition));
  EXPECT_THAT(iscsi().SetMutualChapSecret(context_, Secret("short")),
              FailsWith(kPrecondition, "12 to 16 bytes"));
  EXPECT_THAT(iscsi().SetMutualChapSecret(context_, Secret("seventeen-bytes-!")),
              HasCode(kPrecondition));
  ASSERT_THAT(iscsi().SetMutualChapSecret(context_, Secret("not-the-same")), IsOk());
  EXPECT_THAT(connect(ChapMode::kMutual), HasCode(kPrecondition));
  ASSERT_THAT(iscsi().SetMutualChapSecret(context_, Secret("other-secret")), IsOk());
  EXPECT_THAT(connect(ChapMode::kMutual), IsOk());
  // A target that cannot prove itself is not trusted.
  EXPECT_THAT(Connect("iqn.x:chap", ChapMode::kMutual, "node", "twelve-bytes"),
              HasCode(kPrecondition));
}

// The values are from learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers.
TEST_F(IscsiTest, GivesTheMeaningOfTheInitiatorsAnswers) {
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

TEST_F(IscsiTest, ASessionThatCannotEndStaysPersistent) {
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

// Two portals offer one target. Once the sessions exist, the portals need not be registered.
TEST_F(IscsiTest, SessionsByTwoPortals) {
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
  ASSERT_THAT(open(kPortal, {}), IsOk());
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
  // Only the sessions with these ids change.
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

TEST_F(IscsiTest, NothingAnswers) {
  ASSERT_THAT(iscsi().AddPortal(context_, kPortal), IsOk());
  ASSERT_THAT(node_->SetServerReachable("10.0.0.5", false), IsOk());
  EXPECT_THAT(Connect("iqn.x:open"), HasCode(kUnavailable));
}

}  // namespace
}  // namespace csi_proxy::host
