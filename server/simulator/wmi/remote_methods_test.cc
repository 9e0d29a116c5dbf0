// Tests SMB mappings and the iSCSI initiator through WMI.
#include "server/base/win32_error.h"
#include "server/simulator/iscsi.h"
#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr char kServers[] = R"(
  smb_server {
    name: "files" user { name: "DOM\\us:er" password: "pass:wo\\rd" }
    user { name: "second" password: "p" } share { name: "data" } share { name: "more" }
  }
  smb_server {
    name: "oldnas" no_privacy: true user { name: "u" password: "p" } share { name: "data" }
  }
  iscsi_portal {
    address: "10.0.0.5"
    target { iqn: "iqn.open" disk { number: 10 size_bytes: 1048576 } }
    target { iqn: "iqn.chap" chap: ONE_WAY username: "node" secret: "one-way-secret" }
    target {
      iqn: "iqn.mutual" chap: MUTUAL username: "node" secret: "one-way-secret"
      mutual_secret: "mutual-secret1"
    }
  }
)";

using win32_error::kBadNetName;
using win32_error::kBadNetPath;
using win32_error::kLogonFailure;
using win32_error::kNetworkAccessDenied;

// Matches WBEM_E_FAILED with an error object that names this Win32 error.
MATCHER_P(FailsNaming, error, "") {
  *result_listener << StatusOf(arg);
  return cim::HresultOf(StatusOf(arg)) == cim::hresult::kFailed &&
         HasWin32Code(StatusOf(arg), error);
}

class RemoteMethodsTest : public WmiTest {
 protected:
  RemoteMethodsTest() : WmiTest(kServers) {}

  absl::StatusOr<cim::MethodResult> Map(const char* share, const char* credential,
                                        bool privacy = true) {
    return InvokeStatic("MSFT_SmbGlobalMapping", "Create",
                        {{"RemotePath", Value::String(share)},
                         {"Credential", Value::String(credential)},
                         {"RequirePrivacy", Value::Boolean(privacy)}},
                        kSmb);
  }
  absl::StatusOr<cim::MethodResult> NewPortal(const char* address = "10.0.0.5") {
    return InvokeStatic("MSFT_iSCSITargetPortal", "New",
                        {{"TargetPortalAddress", Value::String(address)},
                         {"TargetPortalPortNumber", Value::Uint16(3260)}});
  }
  absl::StatusOr<cim::MethodResult> Connect(const char* iqn, cim::Arguments more = {}) {
    more["NodeAddress"] = Value::String(iqn);
    more["TargetPortalAddress"] = Value::String("10.0.0.5");
    more["TargetPortalPortNumber"] = Value::Uint16(3260);
    return InvokeStatic("MSFT_iSCSITarget", "Connect", more);
  }
  static cim::Arguments Chap(const char* type, const char* secret = "one-way-secret") {
    return {{"AuthenticationType", Value::String(type)},
            {"ChapUsername", Value::String("node")},
            {"ChapSecret", Value::String(secret)}};
  }
  cim::Object Target(const char* iqn) {
    return One(Query("MSFT_iSCSITarget").Where("NodeAddress", Value::String(iqn)));
  }
};

// The user's backslash and colon are escaped, the password's are not.
constexpr char kCredential[] = R"(DOM\\us\:er:pass:wo\rd)";

TEST_F(RemoteMethodsTest, MapsAndUnmaps) {
  const auto made = Map(R"(\\Files\Data)", kCredential);
  ASSERT_THAT(made, Returns(0));
  const cim::Object mapping = One(Query("MSFT_SmbGlobalMapping"), kSmb);
  EXPECT_EQ(*made->out.Get("CreatedMapping")->AsObject(), mapping);
  EXPECT_THAT(mapping.GetString("RemotePath"), Yields(R"(\\files\data)"));
  EXPECT_THAT(Map(R"(\\files\data)", kCredential), FailsNaming(85u));
  EXPECT_THAT(Invoke(mapping, "Remove", {{"Force", Value::Boolean(true)}}, kSmb), Returns(0));
  EXPECT_THAT(*All(Query("MSFT_SmbGlobalMapping"), kSmb), IsEmpty());
  EXPECT_THAT(Invoke(mapping, "Remove", {{"Force", Value::Boolean(true)}}, kSmb),
              FailsWithHresult(cim::hresult::kNotFound));
}

TEST_F(RemoteMethodsTest, RefusedMappings) {
  EXPECT_THAT(Map(R"(\\nowhere\data)", kCredential), FailsNaming(kBadNetPath));
  EXPECT_THAT(Map(R"(\\files\nothing)", kCredential), FailsNaming(kBadNetName));
  EXPECT_THAT(Map(R"(\\files\data\below)", kCredential), FailsNaming(kBadNetName));
  EXPECT_THAT(Map("files", kCredential), FailsNaming(kBadNetName));
  EXPECT_THAT(Map(R"(\\files\data)", R"(DOM\\us\:er:wrong)"), FailsNaming(kLogonFailure));
  EXPECT_THAT(InvokeStatic("MSFT_SmbGlobalMapping", "Create",
                           {{"RemotePath", Value::String(R"(\\files\data)")}}, kSmb),
              FailsNaming(kLogonFailure));
  EXPECT_THAT(Map(R"(\\oldnas\data)", "u:p"), FailsNaming(kNetworkAccessDenied));
  EXPECT_THAT(Map(R"(\\oldnas\data)", "u:p", false), Returns(0));
  ASSERT_THAT(node_->SetServerReachable("files", false), IsOk());
  EXPECT_THAT(Map(R"(\\files\data)", kCredential), FailsNaming(kBadNetPath));
}

TEST_F(RemoteMethodsTest, AServerIsKnownByOneUser) {
  ASSERT_THAT(Map(R"(\\files\data)", kCredential), Returns(0));
  EXPECT_THAT(Map(R"(\\files\more)", "second:p"), FailsNaming(1219u));
  EXPECT_THAT(Map(R"(\\files\more)", kCredential), Returns(0));
  EXPECT_THAT(Map(R"(\\oldnas\data)", "u:p", false), Returns(0));
}

TEST_F(RemoteMethodsTest, MalformedCredentials) {
  for (const char* credential : {"", "user", R"(DOM\user:pw)", R"(user\)", R"(us\er:pw)"}) {
    EXPECT_THAT(Map(R"(\\files\data)", credential), FailsNaming(win32_error::kInvalidParameter))
        << credential;
  }
}

TEST_F(RemoteMethodsTest, ErrorsTellNoSecret) {
  const std::string message(Map(R"(\\files\data)", "user:hunter2").status().message());
  EXPECT_THAT(message, Not(testing::HasSubstr("hunter2")));
  const std::string chap(
      Connect("iqn.chap", Chap("ONEWAYCHAP", "hunter2-hunter2")).status().message());
  EXPECT_THAT(chap, Not(testing::HasSubstr("hunter2")));
}

TEST_F(RemoteMethodsTest, Portals) {
  const auto made = NewPortal();
  ASSERT_THAT(made, Returns(0));
  const cim::Object portal = One(Query("MSFT_iSCSITargetPortal"));
  EXPECT_EQ(*made->out.Get("CreatedTargetPortal")->AsObject(), portal);
  EXPECT_THAT(*All(Query("MSFT_iSCSITarget")), SizeIs(3));
  EXPECT_THAT(NewPortal(), FailsWithHresult(0xEFFF0032));
  EXPECT_THAT(NewPortal("10.0.0.9"), FailsWithHresult(0xEFFF0003));
  EXPECT_THAT(InvokeStatic("MSFT_iSCSITargetPortal", "New"), FailsWithHresult(0xEFFF000F));
  EXPECT_THAT(Invoke(portal, "Update"), Returns(0));
  ASSERT_THAT(node_->SetServerReachable("10.0.0.5", false), IsOk());
  EXPECT_THAT(Invoke(portal, "Update"), FailsWithHresult(0xEFFF0003));
  EXPECT_THAT(Invoke(portal, "Remove", {{"TargetPortalPortNumber", Value::Uint16(3261)}}),
              FailsWithHresult(0xEFFF0043));
  EXPECT_THAT(Invoke(portal, "Remove"), Returns(0));
  EXPECT_THAT(*All(Query("MSFT_iSCSITargetPortal")), IsEmpty());
}

TEST_F(RemoteMethodsTest, PortalsThatWantToKnowWhoAsks) {
  const auto portal = [&](const char* type) {
    return InvokeStatic("MSFT_iSCSITargetPortal", "New",
                        {{"TargetPortalAddress", Value::String("10.0.0.5")},
                         {"AuthenticationType", Value::String(type)}});
  };
  EXPECT_THAT(portal("none"), FailsWithHresult(0xEFFF004E));
  EXPECT_THAT(portal("ONEWAYCHAP"), Returns(0)) << "a portal that asks for nothing";
  EXPECT_THAT(portal("NONE"), FailsWithHresult(0xEFFF0032));
}

TEST_F(RemoteMethodsTest, ConnectsAndDisconnects) {
  EXPECT_THAT(Connect("iqn.open"), FailsWithHresult(0xEFFF000B));
  ASSERT_THAT(NewPortal(), Returns(0));
  const auto made = Connect("iqn.open");
  ASSERT_THAT(made, Returns(0));
  const cim::Object session = One(Query("MSFT_iSCSISession"));
  EXPECT_EQ(*made->out.Get("CreatediSCSISession")->AsObject(), session);
  EXPECT_THAT(session.GetBoolean("IsPersistent"), Yields(false));
  EXPECT_THAT(Disk(10).GetUint32("Number"), Yields(10U));
  EXPECT_THAT(Connect("iqn.open"), FailsWithHresult(0xEFFF003F));
  const cim::Object target = Target("iqn.open");
  EXPECT_THAT(Invoke(target, "Update"), Returns(0));
  EXPECT_THAT(Invoke(target, "Disconnect", {{"SessionIdentifier", Value::String("other")}}),
              FailsWithHresult(0xEFFF001C));
  EXPECT_THAT(
      Invoke(target, "Disconnect", {{"SessionIdentifier", *session.Get("SessionIdentifier")}}),
      Returns(0));
  EXPECT_THAT(Target("iqn.open").GetBoolean("IsConnected"), Yields(false));
  EXPECT_THAT(Invoke(target, "Disconnect"), FailsWithHresult(0xEFFF001C));
}

// A node whose target is offered by a second portal as well.
class TwoPortalsTest : public RemoteMethodsTest {
 protected:
  TwoPortalsTest() {
    node_->core()->Change([](NodeState& state) {
      state.iscsi_portals[0].targets[0].disks[0].page83 = "lun0";
      IscsiPortalState& second = state.iscsi_portals.emplace_back();
      second.portal.address = "10.0.0.6";
      second.registered = true;
      second.targets.emplace_back().iqn = "iqn.open";
    });
    EXPECT_THAT(NewPortal(), Returns(0));
    EXPECT_THAT(Connect("iqn.open"), Returns(0));
  }
  absl::StatusOr<cim::MethodResult> ConnectAgain(bool multipath) {
    return InvokeStatic("MSFT_iSCSITarget", "Connect",
                        {{"NodeAddress", Value::String("iqn.open")},
                         {"TargetPortalAddress", Value::String("10.0.0.6")},
                         {"IsMultipathEnabled", Value::Boolean(multipath)}});
  }
};

TEST_F(TwoPortalsTest, SessionsByTwoPortals) {
  EXPECT_THAT(ConnectAgain(false), FailsWithHresult(0xEFFF003F));
  ASSERT_THAT(ConnectAgain(true), Returns(0));
  EXPECT_THAT(*All(Query("MSFT_iSCSITarget").Where("NodeAddress", Value::String("iqn.open"))),
              SizeIs(1));
  const auto sessions = *All(Query("MSFT_iSCSISession"));
  ASSERT_THAT(sessions, SizeIs(2));
  const auto connections = *All(Query("MSFT_iSCSIConnection"));
  ASSERT_THAT(connections, SizeIs(2));
  EXPECT_THAT(connections[0].GetString("TargetAddress"), Yields("10.0.0.5"));
  EXPECT_THAT(connections[1].GetString("TargetAddress"), Yields("10.0.0.6"));
  // One session is ended alone, the others together.
  EXPECT_THAT(Invoke(Target("iqn.open"), "Disconnect",
                     {{"SessionIdentifier", *sessions[1].Get("SessionIdentifier")}}),
              Returns(0));
  EXPECT_EQ(One(Query("MSFT_iSCSISession")), sessions[0]);
  ASSERT_THAT(ConnectAgain(true), Returns(0));
  EXPECT_THAT(Invoke(Target("iqn.open"), "Disconnect"), Returns(0));
  EXPECT_THAT(*All(Query("MSFT_iSCSISession")), IsEmpty());
}

TEST_F(TwoPortalsTest, WithMpioTheDiskIsOne) {
  node_->core()->Change([](NodeState& state) { state.behaviour.mpio = true; });
  const size_t before = All(Query("MSFT_Disk"))->size();
  ASSERT_THAT(ConnectAgain(true), Returns(0));
  EXPECT_THAT(*All(Query("MSFT_Disk")), SizeIs(before));
  const auto sessions = *All(Query("MSFT_iSCSISession"));
  for (const cim::Object& session : sessions) {
    const auto disks =
        *session_->Associators(context_, kStorage, session.path(),
                               {"MSFT_iSCSISessionToDisk", "MSFT_Disk", "Disk", "iSCSISession"});
    ASSERT_THAT(disks, SizeIs(1));
    EXPECT_THAT(disks[0].GetUint32("Number"), Yields(10U));
  }
  // The target stays as long as one session does.
  node_->core()->Change([](NodeState& state) {
    EXPECT_THAT(Disconnect(state, &state.iscsi_portals[0].targets[0]), IsOk());
  });
  EXPECT_THAT(*All(Query("MSFT_Disk")), SizeIs(before));
}

TEST_F(TwoPortalsTest, WithoutMpioASecondSessionBringsTheDiskAgain) {
  const size_t before = All(Query("MSFT_Disk"))->size();
  ASSERT_THAT(ConnectAgain(true), Returns(0));
  const auto disks = *All(Query("MSFT_Disk"));
  ASSERT_THAT(disks, SizeIs(before + 1));
  int again = 0;
  for (const cim::Object& disk : disks) {
    if (disk.GetUint32("Number").value_or(0) == 10 ||
        *disk.GetString("UniqueId") != *Disk(10).GetString("UniqueId")) {
      continue;
    }
    ++again;
    EXPECT_THAT(disk.GetBoolean("IsOffline"), Yields(true));
    EXPECT_THAT(disk.GetUint32("OfflineReason"), Yields(2U));
  }
  EXPECT_EQ(again, 1);
  // The remaining session shows the disk itself.
  node_->core()->Change([](NodeState& state) {
    EXPECT_THAT(Disconnect(state, &state.iscsi_portals[0].targets[0]), IsOk());
  });
  EXPECT_THAT(*All(Query("MSFT_Disk")), SizeIs(before));
  EXPECT_THAT(Disk(10).GetUint32("Number"), Yields(10U));
}

TEST_F(RemoteMethodsTest, ASessionOutlivesItsPortal) {
  ASSERT_THAT(NewPortal(), Returns(0));
  ASSERT_THAT(Connect("iqn.open"), Returns(0));
  ASSERT_THAT(Invoke(One(Query("MSFT_iSCSITargetPortal")), "Remove"), Returns(0));
  EXPECT_THAT(*All(Query("MSFT_iSCSITarget")), SizeIs(1));
  EXPECT_THAT(Invoke(Target("iqn.open"), "Disconnect"), Returns(0));
  EXPECT_THAT(*All(Query("MSFT_iSCSITarget")), IsEmpty());
}

TEST_F(RemoteMethodsTest, Authentication) {
  ASSERT_THAT(NewPortal(), Returns(0));
  EXPECT_THAT(Connect("iqn.chap"), FailsWithHresult(0xEFFF0009));
  EXPECT_THAT(Connect("iqn.chap", Chap("ONEWAYCHAP", "some-other-secret")),
              FailsWithHresult(0xEFFF0009));
  // The names of types must be in upper case.
  EXPECT_THAT(Connect("iqn.chap", Chap("OneWayChap")), FailsWithHresult(0xEFFF004E));
  EXPECT_THAT(Connect("iqn.chap", Chap("ONEWAYCHAP")), Returns(0));
  EXPECT_THAT(One(Query("MSFT_iSCSISession")).GetString("AuthenticationType"),
              Yields(std::string("ONEWAYCHAP")));
  EXPECT_THAT(Connect("iqn.mutual", Chap("MUTUALCHAP")), FailsWithHresult(0xEFFF0009));
  const auto set = [&](const char* secret) {
    return InvokeStatic("MSFT_iSCSISession", "SetCHAPSecret",
                        {{"ChapSecret", Value::String(secret)}});
  };
  EXPECT_THAT(set("short"), FailsWithHresult(0xEFFF004A));
  EXPECT_THAT(set("mutual-secret1"), Returns(0));
  EXPECT_THAT(Connect("iqn.mutual", Chap("MUTUALCHAP")), Returns(0));
}

TEST_F(RemoteMethodsTest, NamesOfTargetsHaveCase) {
  ASSERT_THAT(NewPortal(), Returns(0));
  EXPECT_THAT(Connect("IQN.open"), FailsWithHresult(0xEFFF000B));
  EXPECT_THAT(InvokeStatic("MSFT_iSCSITarget", "Connect"), FailsWithHresult(0xEFFF000F));
}

TEST_F(RemoteMethodsTest, PersistentSessions) {
  ASSERT_THAT(NewPortal(), Returns(0));
  ASSERT_THAT(Connect("iqn.open", {{"IsPersistent", Value::Boolean(true)}}), Returns(0));
  const auto session = [&] { return One(Query("MSFT_iSCSISession")); };
  EXPECT_THAT(session().GetBoolean("IsPersistent"), Yields(true));
  EXPECT_THAT(Invoke(session(), "Unregister"), Returns(0));
  EXPECT_THAT(session().GetBoolean("IsPersistent"), Yields(false));
  EXPECT_THAT(Invoke(session(), "Register"), Returns(0));
  EXPECT_THAT(session().GetBoolean("IsPersistent"), Yields(true));
  // The persistent login stays after the session has ended.
  ASSERT_THAT(Invoke(Target("iqn.open"), "Disconnect"), Returns(0));
  EXPECT_TRUE(node_->Snapshot().iscsi_portals[0].targets[0].persistent);
}

}  // namespace
}  // namespace csi_proxy::machine::simulator::wmi
