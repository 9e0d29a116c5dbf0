// Tests refusals of WMI's methods that a friendlier double would not make, and services.
#include <string>

#include "server/names/win32_error.h"
#include "server/simulator/iscsi.h"
#include "server/simulator/storage.h"
#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using testing::SizeIs;

constexpr char kBasicData[] = "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}";
const cim::Arguments kMaximum = {{"UseMaximumSize", Value::Boolean(true)}};

constexpr char kMbrDisk[] = R"(
  disk { number: 4 size_bytes: 1073741824 style: MBR }
  disk { number: 5 size_bytes: 1073741824 read_only: true style: GPT
         partition { size_bytes: 104857600 volume { file_system: "NTFS" } } }
)";

class StorageMethodsTest : public WmiTest {
 protected:
  StorageMethodsTest() : WmiTest(kMbrDisk) {}
};

TEST_F(StorageMethodsTest, CreatePartitionOnAnMbrDiskNeedsAnMbrType) {
  const auto create = [&](const char* type, const Value& value) {
    return Invoke(Disk(4), "CreatePartition",
                  {{"UseMaximumSize", Value::Boolean(true)}, {type, value}});
  };
  EXPECT_THAT(create("GptType", Value::String(kBasicData)), Returns(41006));
  EXPECT_THAT(create("MbrType", Value::Uint16(5)), Returns(41010));
  EXPECT_THAT(create("MbrType", Value::Uint16(7)), Returns(0));
}

TEST_F(StorageMethodsTest, CreatePartitionRefusesInvalidArguments) {
  const auto create = [&](const cim::Arguments& arguments) {
    return Invoke(Disk(2), "CreatePartition", arguments);
  };
  const Value yes = Value::Boolean(true);
  EXPECT_THAT(create({}), Returns(40005));
  EXPECT_THAT(create({{"UseMaximumSize", yes}, {"Size", Value::Uint64(kMiB)}}), Returns(40005));
  EXPECT_THAT(create({{"UseMaximumSize", yes},
                      {"DriveLetter", Value::Char16('D')},
                      {"AssignDriveLetter", yes}}),
              Returns(5));
  EXPECT_THAT(create({{"UseMaximumSize", yes}, {"MbrType", Value::Uint16(7)}}), Returns(41006));
  // A type must include its braces.
  EXPECT_THAT(create({{"UseMaximumSize", yes},
                      {"GptType", Value::String("ebd0a0a2-b9e5-4433-87c0-68b6b72699c7")}}),
              Returns(41010));
  // The simulation makes only the largest partition, and assigns no drive letter.
  EXPECT_THAT(create({{"Size", Value::Uint64(kMiB)}}), Returns(1));
  EXPECT_THAT(create({{"UseMaximumSize", yes}, {"AssignDriveLetter", yes}}), Returns(1));
  EXPECT_THAT(*All(Query("MSFT_Partition").Where("DiskNumber", Value::Uint32(2))), SizeIs(1));
}

TEST_F(StorageMethodsTest, RefreshNeedsAnOnlineInitialisedDisk) {
  EXPECT_THAT(Invoke(Disk(0), "Refresh"), Returns(0));
  EXPECT_THAT(Invoke(Disk(1), "Refresh"), Returns(41000));
  EXPECT_THAT(Invoke(Disk(3), "Refresh"), Returns(41003));
}

TEST_F(StorageMethodsTest, FormatSetsTheLabelAndMakesTheVolumeHealthy) {
  node_->core()->Change([](NodeState& state) {
    state.disks[2].partitions[0].volume->health = 3;
    state.disks[2].partitions[0].volume->dirty = true;
  });
  const auto volume = [&] { return Volume(TestVolume(2)); };
  EXPECT_THAT(volume().Get("HealthStatus"), Yields(Value::Uint16(3)));
  EXPECT_THAT(Invoke(volume(), "Format", {{"FileSystemLabel", Value::String("pvc")}}), Returns(0));
  EXPECT_THAT(volume().GetString("FileSystemLabel"), Yields("pvc"));
  EXPECT_THAT(volume().Get("HealthStatus"), Yields(Value::Uint16(0)));
  EXPECT_FALSE(node_->Snapshot().disks[2].partitions[0].volume->dirty);
  EXPECT_THAT(Invoke(volume(), "Format"), Returns(0));
  EXPECT_THAT(volume().GetString("FileSystemLabel"), Yields(""));
}

TEST_F(StorageMethodsTest, SetAttributesNeedsAnAttribute) {
  EXPECT_THAT(Invoke(Disk(1), "SetAttributes"), Returns(5));
  EXPECT_THAT(Invoke(Disk(1), "SetAttributes", {{"Signature", Value::Uint32(1)}}), Returns(1));
}

TEST_F(StorageMethodsTest, ReservedAndOfflinePartitionsCannotBeResized) {
  // Partition 2 is the reserved partition.
  EXPECT_THAT(Invoke(Partition(0, 2), "GetSupportedSize"), Returns(42009));
  EXPECT_THAT(Invoke(Partition(0, 2), "Resize", {{"Size", Value::Uint64(kGiB)}}), Returns(42009));
  const cim::Object partition = Partition(2, 1);
  ASSERT_THAT(Invoke(partition, "Online"), Returns(0));
  ASSERT_THAT(Invoke(Disk(2), "Offline"), Returns(0));
  EXPECT_THAT(Invoke(partition, "GetSupportedSize"), Returns(41003));
  EXPECT_THAT(Invoke(partition, "Resize", {{"Size", Value::Uint64(kGiB)}}), Returns(41003));
  EXPECT_THAT(Invoke(partition, "Online"), Returns(41003));
}

TEST_F(StorageMethodsTest, MethodsThatAreNotSimulatedReturnNotSupported) {
  EXPECT_THAT(Invoke(Disk(1), "Clear"), Returns(1));
  EXPECT_THAT(Invoke(Partition(2, 1), "Offline"), Returns(1));
  EXPECT_THAT(InvokeStatic("MSFT_StorageSetting", "Get"), Returns(1));
}

}  // namespace
namespace {

constexpr char kServers[] = R"(
  smb_server {
    name: "files" user { name: "DOM\\us:er" password: "pass:wo\\rd" }
    user { name: "second" password: "p" } share { name: "data" } share { name: "more" }
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

// Matches WBEM_E_FAILED with an error object that names the Win32 error `error`.
MATCHER_P(FailsNaming, error, "") {
  *result_listener << StatusOf(arg);
  return cim::HresultOf(StatusOf(arg)) == cim::hresult::kFailed &&
         HasWin32Code(StatusOf(arg), error);
}

class RemoteMethodsTest : public WmiTest {
 protected:
  RemoteMethodsTest() : WmiTest(kServers) {}

  absl::StatusOr<cim::MethodResult> Map(const char* share, const char* credential) {
    return InvokeStatic(
        "MSFT_SmbGlobalMapping", "Create",
        {{"RemotePath", Value::String(share)}, {"Credential", Value::String(credential)}}, kSmb);
  }
  absl::StatusOr<cim::MethodResult> NewPortal() {
    return InvokeStatic("MSFT_iSCSITargetPortal", "New",
                        {{"TargetPortalAddress", Value::String("10.0.0.5")},
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
};

TEST_F(RemoteMethodsTest, MalformedCredentialsAreRefused) {
  for (const char* credential : {"", "user", R"(DOM\user:pw)", R"(user\)", R"(us\er:pw)"}) {
    EXPECT_THAT(Map(R"(\\files\data)", credential), FailsNaming(win32_error::kInvalidParameter))
        << credential;
  }
}

TEST_F(RemoteMethodsTest, ANewPortalNeedsADocumentedAuthenticationType) {
  const auto portal = [&](const char* type) {
    return InvokeStatic("MSFT_iSCSITargetPortal", "New",
                        {{"TargetPortalAddress", Value::String("10.0.0.5")},
                         {"AuthenticationType", Value::String(type)}});
  };
  EXPECT_THAT(portal("none"), FailsWithHresult(0xEFFF004E));
  EXPECT_THAT(portal("ONEWAYCHAP"), Returns(0)) << "a portal that asks for nothing";
  EXPECT_THAT(portal("NONE"), FailsWithHresult(0xEFFF0032));
}

// A node with a target that two portals offer.
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

TEST_F(TwoPortalsTest, WithoutMpioASecondSessionAddsTheDiskAgain) {
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
  // After the first session ends, the remaining session shows the disk itself, not a copy.
  node_->core()->Change([](NodeState& state) {
    EXPECT_THAT(Disconnect(state, &state.iscsi_portals[0].targets[0]), IsOk());
  });
  EXPECT_THAT(*All(Query("MSFT_Disk")), SizeIs(before));
  EXPECT_THAT(Disk(10).GetUint32("Number"), Yields(10U));
}

TEST_F(RemoteMethodsTest, ConnectNeedsTheTargetsAuthentication) {
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

TEST_F(RemoteMethodsTest, TargetNamesAreCaseSensitive) {
  ASSERT_THAT(NewPortal(), Returns(0));
  EXPECT_THAT(Connect("IQN.open"), FailsWithHresult(0xEFFF000B));
  EXPECT_THAT(InvokeStatic("MSFT_iSCSITarget", "Connect"), FailsWithHresult(0xEFFF000F));
}

constexpr char kServices[] = R"(
  service { name: "base" display_name: "The Base" start_type: AUTOMATIC state: RUNNING }
  service { name: "above" start_type: MANUAL state: RUNNING depends_on: "base" }
  service { name: "slow" start_type: MANUAL state: STOPPED start_latency_ms: 3600000 }
  service { name: "never" start_type: DISABLED state: STOPPED }
)";

class ServicesTest : public WmiTest {
 protected:
  ServicesTest() : WmiTest(kServices) {}

  cim::Object Service(const std::string& name) {
    return One(Query("Win32_Service").Where("Name", Value::String(name)), kCimV2);
  }
  absl::StatusOr<cim::MethodResult> Call(const std::string& name, const std::string& method) {
    return Invoke(Service(name), method, {}, kCimV2);
  }
};

TEST_F(ServicesTest, ServiceObjectsHaveNameStateAndStartMode) {
  const cim::Object base = Service("BASE");
  EXPECT_EQ(base.path(), "Win32_Service.Name=\"base\"");
  EXPECT_THAT(base.GetString("DisplayName"), Yields("The Base"));
  EXPECT_THAT(base.GetString("StartMode"), Yields("Auto"));
  EXPECT_THAT(base.GetString("State"), Yields("Running"));
  EXPECT_THAT(Service("never").GetString("StartMode"), Yields("Disabled"));
}

TEST_F(ServicesTest, DependentServicesAreAssociated) {
  const auto dependents =
      session_->Associators(context_, kCimV2, Service("base").path(),
                            {"Win32_DependentService", "Win32_Service", "Dependent", "Antecedent"});
  ASSERT_THAT(dependents, IsOk());
  ASSERT_EQ(dependents->size(), 1U);
  EXPECT_EQ(dependents->front(), Service("above"));
}

TEST_F(ServicesTest, ServiceMethodsReturnTheDocumentedCodes) {
  EXPECT_THAT(Call("base", "StartService"), Returns(10));
  EXPECT_THAT(Call("base", "StopService"), Returns(3));
  EXPECT_THAT(Call("above", "StopService"), Returns(0));
  EXPECT_THAT(Call("above", "StopService"), Returns(5));
  EXPECT_THAT(Call("base", "StopService"), Returns(0));
  EXPECT_THAT(Call("never", "StartService"), Returns(14));
  EXPECT_THAT(Call("slow", "StartService"), Returns(0));
  EXPECT_THAT(Service("slow").GetString("State"), Yields("Start Pending"));
  EXPECT_THAT(Call("slow", "StartService"), Returns(5));
  // The service's dependencies are started first.
  EXPECT_THAT(Call("above", "StartService"), Returns(0));
  EXPECT_THAT(Service("base").GetString("State"), Yields("Running"));
}

TEST_F(ServicesTest, AnAbstractClassReturnsTheInstancesOfItsSubclass) {
  EXPECT_EQ(One(Query("CIM_BIOSElement"), kCimV2), One(Query("Win32_BIOS"), kCimV2));
}

}  // namespace

}  // namespace csi_proxy::machine::simulator::wmi
