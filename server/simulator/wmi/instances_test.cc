#include "server/simulator/wmi/instances.h"

#include "server/simulator/storage.h"
#include "server/simulator/wmi/schema.h"
#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kServers[] = R"(
  disk {
    number: 4 size_bytes: 1073741824 style: MBR location: "Integrated : Adapter 1"
    page83: "60022480A1B2C3D4E5F60718293A4B5C"
    partition { size_bytes: 104857600 volume { file_system: "FAT32" drive_letter: "E" } }
  }
  smb_server { name: "files" user { name: "u" password: "p" } share { name: "data" }
               share { name: "more" } share { name: "idle" } }
  smb_mapping { remote_path: "\\\\files\\data" username: "u" }
  smb_mapping { remote_path: "\\\\files\\more" username: "u" broken: true }
  smb_mapping { remote_path: "\\\\files\\idle" username: "u" idle: true }
  iscsi_portal {
    address: "10.0.0.5" registered: true
    target { iqn: "iqn.a" connected: true persistent: true disk { number: 10 size_bytes: 1048576 } }
    target { iqn: "iqn.b" disk { number: 11 size_bytes: 1048576 } }
  }
  iscsi_portal { address: "10.0.0.6" target { iqn: "iqn.c" } }
)";

class InstancesTest : public WmiTest {
 protected:
  InstancesTest() : WmiTest(kServers) {}
};

// A list of wanted instances must be short and must not lack any of them.
TEST_F(InstancesTest, AreMadeOnlyOfWhatIsWanted) {
  node_->core()->Change([](NodeState& state) {
    size_t narrowed = 0;
    for (const Class& of : Classes()) {
      const std::vector<cim::Object> all = Instances(state, of);
      for (const cim::Object& object : all) {
        const absl::StatusOr<ObjectPath> path = ParsePath(of.space, object.path());
        ASSERT_THAT(path, IsOk()) << object.path();
        const absl::StatusOr<cim::Object> found = FindInstance(state, *path);
        ASSERT_THAT(found, IsOk()) << object.path();
        EXPECT_EQ(found->path(), object.path());
        if (Instances(state, of, path->keys).size() < all.size()) ++narrowed;
        // A query for any property finds the object.
        for (const auto& [name, value] : object.properties()) {
          if (value.is_null()) continue;
          EXPECT_THAT(Instances(state, of, {{name, value}}), testing::Contains(object))
              << of.name << "." << name;
        }
      }
    }
    // The number of all disks, partitions, volumes and mappings of this node.
    EXPECT_EQ(narrowed, 6u + 5u + 3u + 3u);
  });
  const auto count = [&](const char* of, const char* property, const Value& value,
                         cim::Namespace space = kStorage) {
    return node_->core()->Change([&](NodeState& state) {
      return Instances(state, *FindClass(space, of), {{property, value}}).size();
    });
  };
  EXPECT_EQ(count("MSFT_Disk", "Number", Value::Uint32(2)), 1u);
  EXPECT_EQ(count("MSFT_Disk", "Number", Value::Uint32(99)), 0u);
  EXPECT_EQ(count("MSFT_Partition", "DiskNumber", Value::Uint32(0)), 3u);
  EXPECT_EQ(count("MSFT_Volume", "UniqueId", Value::String(TestVolume(2).ToString())), 1u);
  EXPECT_EQ(count("MSFT_SmbGlobalMapping", "RemotePath", Value::String("\\\\FILES\\More"), kSmb),
            1u);
}

std::vector<uint32_t> Numbers(const std::vector<cim::Object>& objects,
                              const char* property = "Number") {
  std::vector<uint32_t> numbers;
  for (const cim::Object& object : objects) numbers.push_back(*object.GetUint32(property));
  return numbers;
}
std::vector<std::string> Texts(const std::vector<cim::Object>& objects, const char* property) {
  std::vector<std::string> texts;
  for (const cim::Object& object : objects) texts.push_back(*object.GetString(property));
  return texts;
}

TEST_F(InstancesTest, EveryObjectHasThePropertiesOfItsClass) {
  size_t seen = 0;
  for (const Class& of : Classes()) {
    const auto objects = All(Query(of.name), of.space);
    ASSERT_THAT(objects, IsOk()) << of.name;
    for (const cim::Object& object : *objects) {
      ++seen;
      EXPECT_EQ(object.class_name(), of.name);
      EXPECT_EQ(object.properties().size(), of.properties.size()) << of.name;
      for (const Property& property : of.properties) {
        const auto value = object.Get(property.name);
        ASSERT_THAT(value, IsOk());
        EXPECT_EQ(value->type(), property.type) << of.name << "." << property.name;
        EXPECT_EQ(value->is_array(), property.is_array) << of.name << "." << property.name;
        EXPECT_FALSE(property.is_key && value->is_null()) << of.name << "." << property.name;
      }
      // The path must find the object, unless several share the path.
      EXPECT_THAT(session_->Get(context_, of.space, object.path()), Yields(object));
    }
  }
  EXPECT_GT(seen, 25U);
}

TEST_F(InstancesTest, PathsAreEscaped) {
  EXPECT_EQ(Volume(TestVolume(2)).path(),
            R"(MSFT_Volume.ObjectId="{1}\\\\NODE\\root/Microsoft/Windows/Storage/Providers_v2\\)"
            R"(WSP_Volume.ObjectId=\"{0c5a3f7e-2b61-11ee-a1f4-806e6f6e6963}:VO:)"
            R"(\\\\?\\Volume{00000000-0000-0000-0000-000000000002}\\\"")");
}

TEST_F(InstancesTest, Disks) {
  EXPECT_THAT(Numbers(*All(Query("MSFT_Disk"))), ElementsAre(0, 1, 2, 3, 4, 10));
  const cim::Object system = Disk(0);
  EXPECT_THAT(system.GetString("Path"), Yields(DevicePath(0)));
  EXPECT_THAT(system.GetString("Location"), Yields("Integrated : Adapter 0 : Port 0"));
  EXPECT_THAT(system.GetString("SerialNumber"), Yields("S0"));
  EXPECT_THAT(system.GetUint64("Size"), Yields(10737418240U));
  EXPECT_THAT(system.GetUint32("PartitionStyle"), Yields(2U));
  EXPECT_THAT(system.GetBoolean("IsSystem"), Yields(true));
  EXPECT_THAT(system.GetString("UniqueId"), Yields("system"));
  EXPECT_THAT(system.GetUint32("UniqueIdFormat"), Yields(8U));
  const cim::Object raw = Disk(1);
  EXPECT_FALSE(raw.Has("Location"));
  EXPECT_THAT(raw.GetUint32("PartitionStyle"), Yields(0U));
  EXPECT_FALSE(Disk(2).Has("SerialNumber"));
  EXPECT_THAT(Disk(3).GetBoolean("IsOffline"), Yields(true));
  EXPECT_THAT(Disk(3).GetBoolean("IsReadOnly"), Yields(true));
  EXPECT_THAT(Disk(4).GetUint32("PartitionStyle"), Yields(1U));
  EXPECT_THAT(Disk(4).GetString("UniqueId"), Yields("60022480A1B2C3D4E5F60718293A4B5C"));
  EXPECT_THAT(Disk(4).GetUint32("UniqueIdFormat"), Yields(3U));
}

TEST_F(InstancesTest, Partitions) {
  const auto partitions = All(Query("MSFT_Partition").Where("DiskNumber", Value::Uint32(0)));
  EXPECT_THAT(Numbers(*partitions, "PartitionNumber"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Texts(*partitions, "GptType"), ElementsAre("{c12a7328-f81f-11d2-ba4b-00a0c93ec93b}",
                                                         "{e3c9e316-0b5c-4db8-817d-f92df00215ae}",
                                                         "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}"));
  const cim::Object& system = partitions->back();
  EXPECT_THAT(system.GetUint64("Size"), Yields(8589934592U));
  EXPECT_THAT(system.GetUint32("DriveLetter"), Yields(uint32_t{'C'}));
  EXPECT_FALSE(partitions->front().Has("AccessPaths"));
  EXPECT_FALSE(system.Has("MbrType"));
  const cim::Object mbr = Partition(4, 1);
  EXPECT_FALSE(mbr.Has("GptType"));
  EXPECT_THAT(mbr.GetUint32("MbrType"), Yields(7U));
}

TEST_F(InstancesTest, AccessPathsNameMountPoints) {
  ASSERT_THAT(host_->volume().Mount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
  const auto paths = Partition(2, 1).Get("AccessPaths");
  EXPECT_EQ(*paths,
            Value::Array(cim::Type::kString, {Value::String("C:\\var\\lib\\kubelet\\pods\\p1\\"),
                                              Value::String(TestVolume(2).ToString())}));
}

TEST_F(InstancesTest, Volumes) {
  const cim::Object system = Volume(TestVolume(1));
  EXPECT_THAT(system.GetUint32("DriveLetter"), Yields(uint32_t{'C'}));
  EXPECT_THAT(system.GetString("Path"), Yields(TestVolume(1).ToString()));
  EXPECT_THAT(system.GetUint32("FileSystemType"), Yields(14U));
  const auto stats = host_->volume().GetStats(context_, TestVolume(1));
  EXPECT_THAT(system.GetUint64("Size"), Yields(stats->total_bytes));
  EXPECT_THAT(system.GetUint64("SizeRemaining"), Yields(stats->total_bytes - stats->used_bytes));
  EXPECT_THAT(Volume(TestVolume(2)).GetUint32("DriveLetter"), Yields(0U));
  EXPECT_THAT(One(Query("MSFT_Volume").Where("DriveLetter", Value::Char16('E')))
                  .GetUint32("FileSystemType"),
              Yields(6U));
}

TEST_F(InstancesTest, VolumesOfOfflineDisksAreGone) {
  ASSERT_THAT(host_->disk().SetOnline(context_, 2, false), IsOk());
  EXPECT_THAT(*All(Query("MSFT_Volume").Where("UniqueId", Value::String(TestVolume(2).ToString()))),
              IsEmpty());
  const cim::Object partition = Partition(2, 1);
  EXPECT_FALSE(partition.Has("AccessPaths"));
  EXPECT_THAT(partition.GetUint32("OperationalStatus"), Yields(4U));
}

TEST_F(InstancesTest, VolumesThatHaveNotArrivedAreNotThere) {
  ASSERT_THAT(host_->disk().InitializeGpt(context_, 1), IsOk());
  node_->core()->Change([](NodeState& state) { state.volume_arrival_delay = absl::Hours(1); });
  ASSERT_THAT(host_->disk().CreateBasicPartition(context_, 1), IsOk());
  const auto volumes =
      session_->Associators(context_, kStorage, Partition(1, 2).path(),
                            {"MSFT_PartitionToVolume", "MSFT_Volume", "Volume", "Partition"});
  ASSERT_THAT(volumes, IsOk());
  EXPECT_THAT(*volumes, IsEmpty());
}

TEST_F(InstancesTest, AssociationsOfDisks) {
  const auto partitions =
      session_->Associators(context_, kStorage, Disk(0).path(),
                            {"MSFT_DiskToPartition", "MSFT_Partition", "Partition", "Disk"});
  EXPECT_THAT(Numbers(*partitions, "PartitionNumber"), ElementsAre(1, 2, 3));
  const auto volumes =
      session_->Associators(context_, kStorage, Partition(0, 3).path(),
                            {"MSFT_PartitionToVolume", "MSFT_Volume", "Volume", "Partition"});
  EXPECT_THAT(Texts(*volumes, "UniqueId"), ElementsAre(TestVolume(1).ToString()));
  const auto back =
      session_->Associators(context_, kStorage, Volume(TestVolume(2)).path(),
                            {"MSFT_PartitionToVolume", "MSFT_Partition", "Partition", "Volume"});
  EXPECT_THAT(Numbers(*back, "DiskNumber"), ElementsAre(2));
}

TEST_F(InstancesTest, Iscsi) {
  const cim::Object portal = One(Query("MSFT_iSCSITargetPortal"));
  EXPECT_EQ(portal.path(), "MSFT_iSCSITargetPortal.TargetPortalAddress=\"10.0.0.5\"");
  EXPECT_THAT(portal.GetUint32("TargetPortalPortNumber"), Yields(3260U));
  const auto targets =
      session_->Associators(context_, kStorage, portal.path(),
                            {"MSFT_iSCSITargetToiSCSITargetPortal", "MSFT_iSCSITarget",
                             "iSCSITarget", "iSCSITargetPortal"});
  EXPECT_THAT(Texts(*targets, "NodeAddress"), ElementsAre("iqn.a", "iqn.b"));
  EXPECT_THAT(targets->front().GetBoolean("IsConnected"), Yields(true));
  EXPECT_THAT(targets->back().GetBoolean("IsConnected"), Yields(false));
  const std::string target = targets->front().path();
  const auto sessions = session_->Associators(
      context_, kStorage, target,
      {"MSFT_iSCSITargetToiSCSISession", "MSFT_iSCSISession", "iSCSISession", "iSCSITarget"});
  ASSERT_THAT(*sessions, SizeIs(1));
  EXPECT_THAT(sessions->front().GetBoolean("IsPersistent"), Yields(true));
  const auto connections =
      session_->Associators(context_, kStorage, target,
                            {"MSFT_iSCSITargetToiSCSIConnection", "MSFT_iSCSIConnection",
                             "iSCSIConnection", "iSCSITarget"});
  ASSERT_THAT(*connections, SizeIs(1));
  const auto disks =
      session_->Associators(context_, kStorage, connections->front().path(),
                            {"MSFT_iSCSIConnectionToDisk", "MSFT_Disk", "Disk", "iSCSIConnection"});
  EXPECT_THAT(Numbers(*disks), ElementsAre(10));
}

TEST_F(InstancesTest, PortalsAtOneAddressHaveOnePath) {
  node_->core()->Change([](NodeState& state) {
    state.iscsi_portals[1].portal = {"10.0.0.5", 3261};
    state.iscsi_portals[1].registered = true;
  });
  const cim::Object second =
      One(Query("MSFT_iSCSITargetPortal").Where("TargetPortalPortNumber", Value::Uint16(3261)));
  EXPECT_THAT(session_->Get(context_, kStorage, second.path())->GetUint32("TargetPortalPortNumber"),
              Yields(3260U));
  const auto targets =
      session_->Associators(context_, kStorage, second.path(),
                            {"MSFT_iSCSITargetToiSCSITargetPortal", "MSFT_iSCSITarget",
                             "iSCSITarget", "iSCSITargetPortal"});
  EXPECT_THAT(Texts(*targets, "NodeAddress"), ElementsAre("iqn.a", "iqn.b", "iqn.c"));
}

TEST_F(InstancesTest, SmbMappings) {
  const auto status = [&](const char* share) {
    return One(Query("MSFT_SmbGlobalMapping").Where("RemotePath", Value::String(share)), kSmb)
        .GetUint32("Status");
  };
  EXPECT_THAT(status(R"(\\FILES\Data)"), Yields(0U));
  // Only use of the mapping shows whether the password is right.
  EXPECT_THAT(status(R"(\\files\more)"), Yields(0U));
  EXPECT_THAT(status(R"(\\files\idle)"), Yields(2U));
  ASSERT_THAT(node_->SetServerReachable("files", false), IsOk());
  EXPECT_THAT(status(R"(\\files\data)"), Yields(2U));
}

TEST_F(InstancesTest, Bios) {
  EXPECT_THAT(One(Query("Win32_BIOS"), kCimV2).GetString("SerialNumber"), Yields("BIOS-1"));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator::wmi
