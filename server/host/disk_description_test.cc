// Tests the description of a disk, and its read-only flag.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/host/odd_machine_testing.h"

namespace csi_proxy::host {
namespace {

using testing::ElementsAre;

constexpr char kDisks[] = R"(
  disk {
    number: 9 size_bytes: 2147483648 bus_type: BUS_NVME serial_number: " vol0a1b " eui: "0025385b71b00a1c"
    location: "PCI Slot 4 : Adapter 4 : Port 0 : Target 0 : LUN 1" style: MBR health: DISK_WARNING
  }
  disk { number: 8 size_bytes: 1048576 bus_type: BUS_NVME nvme_namespace_id: 31 page83: "old one" }
  disk {
    number: 7 size_bytes: 1048576 bus_type: BUS_SAS eui: "0025385b71b00a1d" page83: "6002248000000001"
    offline: true offline_reason: OFFLINE_COLLISION read_only: true health: DISK_UNHEALTHY
  }
  disk {
    number: 6 size_bytes: 1048576 bus_type: BUS_NVME eui: "0025385b71b00a1c0025385b71b00a1c"
    page83_error { code: 21 }
  }
  disk { number: 5 size_bytes: 1073741824 style: GPT is_system: true unique_id: "SIM\\FIVE:NODE" }
  disk { number: 4 size_bytes: 1073741824 style: GPT is_boot: true }
)";

class DiskDescriptionTest : public testing::Test {
 protected:
  DiskHost& disk() { return host_->disk(); }

  const CallContext context_{};
  const std::unique_ptr<Machine> node_ = TestNode(kDisks);
  const std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

TEST_F(DiskDescriptionTest, ListDisksSetsTheFieldsOfEachDisk) {
  const auto disks = disk().ListDisks(context_);
  ASSERT_THAT(disks, IsOk());
  std::vector<uint32_t> numbers;
  for (const DiskDescription& one : *disks) numbers.push_back(one.number);
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));

  const DiskDescription& system = disks->at(0);
  EXPECT_TRUE(system.is_boot && system.is_system && system.is_online && !system.is_read_only);
  EXPECT_EQ(system.bus_type, "");
  EXPECT_EQ(system.partition_style, PartitionStyle::kGpt);
  EXPECT_EQ(system.page83, "system");
  EXPECT_EQ(system.unique_id, "system");
  EXPECT_EQ(system.size_bytes, int64_t{10} << 30);
  EXPECT_EQ(system.health, "Healthy");
  EXPECT_EQ(disks->at(3).offline_reason, "Policy");

  const DiskDescription& nvme = disks->at(9);
  EXPECT_EQ(nvme.bus_type, "NVMe");
  EXPECT_EQ(nvme.serial_number, "vol0a1b");
  EXPECT_EQ(nvme.page83, "0025385b71b00a1c");
  EXPECT_EQ(nvme.eui, "0025385b71b00a1c");
  EXPECT_EQ(nvme.unique_id, "eui.0025385B71B00A1C");
  EXPECT_EQ(nvme.nvme_namespace_id, 0u);
  EXPECT_EQ(nvme.adapter + nvme.bus + nvme.target + nvme.lun_id, "4001");
  EXPECT_EQ(nvme.partition_style, PartitionStyle::kMbr);
  EXPECT_EQ(nvme.health, "Warning");
  EXPECT_EQ(nvme.offline_reason, "");
  EXPECT_NE(nvme.path, "");
  EXPECT_FALSE(nvme.is_boot || nvme.is_system);

  EXPECT_EQ(disks->at(8).nvme_namespace_id, 0x1Fu);
  EXPECT_EQ(disks->at(8).eui, "");
  EXPECT_EQ(disks->at(8).page83, "old one");

  const DiskDescription& collided = disks->at(7);
  EXPECT_EQ(collided.bus_type, "SAS");
  EXPECT_EQ(collided.eui, "") << "it is not an NVMe disk";
  EXPECT_EQ(collided.page83, "6002248000000001");
  EXPECT_TRUE(!collided.is_online && collided.is_read_only);
  EXPECT_EQ(collided.offline_reason, "Collision");
  EXPECT_EQ(collided.health, "Unhealthy");
  EXPECT_EQ(collided.partition_style, PartitionStyle::kRaw);

  EXPECT_EQ(disks->at(5).unique_id, "SIM\\FIVE:NODE");
  EXPECT_TRUE(disks->at(5).is_system && !disks->at(5).is_boot);
  EXPECT_TRUE(!disks->at(4).is_system && disks->at(4).is_boot);
}

TEST_F(DiskDescriptionTest, AnUnresponsiveDiskIsListedWithItsKnownFields) {
  const auto disks = disk().ListDisks(context_);
  ASSERT_THAT(disks, IsOk());
  const DiskDescription& mute = disks->at(6);
  EXPECT_THAT(mute.status, FailsWith(kInternal, "reading page 83 of disk 6: "));
  EXPECT_EQ(mute.eui, "0025385b71b00a1c0025385b71b00a1c") << "from the unique id";
  EXPECT_EQ(mute.bus_type, "NVMe");
  for (const DiskDescription& other : *disks) {
    if (other.number == 6) continue;
    EXPECT_THAT(other.status, IsOk());
  }
}

TEST_F(DiskDescriptionTest, DescribeDoesNotQueryADiskForItsIdentifiers) {
  const auto described = disk().Describe(context_, 7);
  ASSERT_THAT(described, IsOk());
  EXPECT_EQ(described->number, 7u);
  EXPECT_EQ(described->offline_reason, "Collision");
  EXPECT_EQ(described->bus_type, "SAS");
  EXPECT_EQ(described->page83, "");
  EXPECT_THAT(disk().Describe(context_, 77), FailsWith(kNotFound, "there is no disk 77"));
}

// The property is missing, null, of another type, or unreadable.
TEST_F(DiskDescriptionTest, ADiskWithAMissingOrOddPropertyIsListed) {
  const char* const properties[] = {
      "BusType",   "Path",       "SerialNumber",   "UniqueId",    "UniqueIdFormat",
      "Location",  "Size",       "PartitionStyle", "IsBoot",      "IsSystem",
      "IsOffline", "IsReadOnly", "OfflineReason",  "HealthStatus"};
  const std::optional<cim::Value> values[] = {
      std::nullopt, cim::Value(), cim::Value::Array(cim::Type::kUint32, {cim::Value::Uint32(7)}),
      cim::Value::Unreadable(absl::InternalError("is a VARIANT of type 7"))};
  for (const char* property : properties) {
    for (const std::optional<cim::Value>& value : values) {
      SCOPED_TRACE(property);
      std::set<OddSession::Property> given;
      const auto host = std::make_unique<Host>(
          std::make_unique<OddSession>(*node_, OddSession::Property("MSFT_Disk", property), value,
                                       &given),
          machine::simulator::NewSimulatedOs(node_->core()));
      const auto disks = host->disk().ListDisks(context_);
      ASSERT_THAT(disks, IsOk());
      ASSERT_EQ(disks->size(), 10u);
      const DiskDescription& one = disks->at(7);
      const std::string name = property;
      EXPECT_EQ(one.bus_type, name == "BusType" ? "" : "SAS");
      EXPECT_EQ(one.is_online, name == "IsOffline");
      EXPECT_TRUE(one.is_read_only) << "the disk itself says so";
      EXPECT_EQ(one.offline_reason,
                name == "OfflineReason" || name == "IsOffline" ? "" : "Collision");
      EXPECT_EQ(one.health, name == "HealthStatus" ? "" : "Unhealthy");
      EXPECT_EQ(one.size_bytes, name == "Size" ? 0 : 1048576);
      EXPECT_EQ(one.status.ok(), name != "Path");
      // Disk 6 does not answer.
      EXPECT_EQ(disks->at(6).page83.empty(), name == "UniqueId" || name == "UniqueIdFormat");
      // A disk that may be Windows' own counts as such.
      const bool is_odd = value.has_value() && !value->is_null();
      EXPECT_EQ(disks->at(0).is_boot, name != "IsBoot" || is_odd);
      EXPECT_EQ(disks->at(0).is_system, name != "IsSystem" || is_odd);
      EXPECT_EQ(one.is_boot, name == "IsBoot" && is_odd);
    }
  }
}

// On other disks than Azure's the LUN of the SCSI address has another meaning.
TEST_F(DiskDescriptionTest, OnlyAzuresNvmeDisksGetALunFromTheirAddress) {
  const std::unique_ptr<Machine> node = TestNode(
      "disk { number: 9 size_bytes: 1048576 bus_type: BUS_NVME location: 'Adapter 4' lun: 3 }");
  EXPECT_EQ(NewSimulatedHost(*node)->disk().ListDisks(context_)->at(4).lun_id, "2");
  std::set<OddSession::Property> given;
  const auto host = std::make_unique<Host>(
      std::make_unique<OddSession>(*node, OddSession::Property("MSFT_Disk", "FriendlyName"),
                                   cim::Value::String("nvme_card-pd"), &given),
      machine::simulator::NewSimulatedOs(node->core()));
  EXPECT_EQ(host->disk().ListDisks(context_)->at(4).lun_id, "");
}

// Newer versions of Windows may use values that Microsoft's page does not list.
TEST_F(DiskDescriptionTest, AnUnknownEnumValueIsShownAsANumber) {
  std::set<OddSession::Property> given;
  const auto host = std::make_unique<Host>(
      std::make_unique<OddSession>(*node_, OddSession::Property("MSFT_Disk", "BusType"),
                                   cim::Value::Uint16(18), &given),
      machine::simulator::NewSimulatedOs(node_->core()));
  EXPECT_EQ(host->disk().ListDisks(context_)->at(1).bus_type, "18");
}

// Windows refuses the flag for an offline disk, and for Windows' own disk even if WMI does not mark
// that disk.
TEST_F(DiskDescriptionTest, SetReadOnlyReportsARefusalOfWindows) {
  ASSERT_THAT(disk().SetReadOnly(context_, 7, false), IsOk());
  EXPECT_THAT(disk().SetReadOnly(context_, 7, true),
              FailsWith(kPrecondition, "making disk 7 read-only failed: The disk is offline"));
  std::set<OddSession::Property> given;
  const auto host = std::make_unique<Host>(
      std::make_unique<OddSession>(*node_, OddSession::Property("MSFT_Disk", "IsBoot"),
                                   std::nullopt, &given),
      machine::simulator::NewSimulatedOs(node_->core()));
  EXPECT_THAT(host->disk().SetReadOnly(context_, 4, true),
              FailsWith(kPrecondition, "Not on a critical disk"));
}

}  // namespace
}  // namespace csi_proxy::host
