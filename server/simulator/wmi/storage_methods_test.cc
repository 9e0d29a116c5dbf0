#include "server/simulator/storage.h"
#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
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

  cim::Object VolumeOn(uint32_t disk) {
    const auto ids = host_->volume().ListVolumes(context_, disk, 0);
    EXPECT_THAT(*ids, SizeIs(1));
    return Volume(ids->front());
  }
};

TEST_F(StorageMethodsTest, Initialize) {
  EXPECT_THAT(Invoke(Disk(1), "Initialize", {{"PartitionStyle", Value::Uint16(2)}}), Returns(0));
  EXPECT_THAT(Disk(1).GetUint32("PartitionStyle"), Yields(2U));
  EXPECT_THAT(Invoke(Disk(1), "Initialize"), Returns(41001));
  EXPECT_THAT(Invoke(Disk(3), "Initialize"), Returns(41003));
  EXPECT_THAT(Invoke(Disk(1), "Initialize", {{"PartitionStyle", Value::Uint16(1)}}), Returns(1));
  EXPECT_THAT(Invoke(Disk(1), "Initialize", {{"PartitionStyle", Value::Uint16(3)}}), Returns(5));
}

TEST_F(StorageMethodsTest, InitializeDefaultsToGpt) {
  EXPECT_THAT(Invoke(Disk(1), "Initialize"), Returns(0));
  EXPECT_THAT(Disk(1).GetUint32("PartitionStyle"), Yields(2U));
}

TEST_F(StorageMethodsTest, ATooSmallDiskIsNotInitialized) {
  ASSERT_THAT(node_->AttachDisk(RawDisk(4 * kMiB), 9), IsOk());
  EXPECT_THAT(Invoke(Disk(9), "Initialize"), Returns(41014));
}

TEST_F(StorageMethodsTest, AFailureExplainsItself) {
  const auto result = Invoke(Disk(0), "Initialize");
  ASSERT_THAT(result, Returns(41001));
  const auto status = result->out.Get("ExtendedStatus")->AsObject();
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->class_name(), "MSFT_StorageExtendedStatus");
  EXPECT_THAT(*status->GetString("Message"), HasSubstr("already been initialized"));
  // A success has no ExtendedStatus.
  EXPECT_FALSE(Invoke(Disk(1), "Initialize")->out.Has("ExtendedStatus"));
}

TEST_F(StorageMethodsTest, CreatePartition) {
  ASSERT_THAT(Invoke(Disk(1), "CreatePartition", kMaximum), Returns(41000));
  ASSERT_THAT(Invoke(Disk(1), "Initialize"), Returns(0));
  const auto created = Invoke(Disk(1), "CreatePartition",
                              {{"UseMaximumSize", Value::Boolean(true)},
                               {"AssignDriveLetter", Value::Boolean(false)},
                               {"IsHidden", Value::Boolean(false)},
                               {"IsActive", Value::Boolean(false)},
                               {"GptType", Value::String(kBasicData)}});
  ASSERT_THAT(created, Returns(0));
  EXPECT_EQ(*created->out.Get("CreatedPartition")->AsObject(), Partition(1, 2));
  EXPECT_THAT(Partition(1, 2).GetString("GptType"), Yields(kBasicData));
  EXPECT_THAT(VolumeOn(1).GetUint32("FileSystemType"), Yields(0U));
  EXPECT_THAT(Invoke(Disk(1), "CreatePartition", kMaximum), Returns(40000));
  EXPECT_THAT(Invoke(Disk(3), "CreatePartition", kMaximum), Returns(41003));
  EXPECT_THAT(Invoke(Disk(5), "CreatePartition", kMaximum), Returns(41002));
}

TEST_F(StorageMethodsTest, CreatePartitionOnMbr) {
  const auto create = [&](const char* type, const Value& value) {
    return Invoke(Disk(4), "CreatePartition",
                  {{"UseMaximumSize", Value::Boolean(true)}, {type, value}});
  };
  EXPECT_THAT(create("GptType", Value::String(kBasicData)), Returns(41006));
  EXPECT_THAT(create("MbrType", Value::Uint16(5)), Returns(41010));
  EXPECT_THAT(create("MbrType", Value::Uint16(7)), Returns(0));
}

TEST_F(StorageMethodsTest, CreatePartitionTakesNoNonsense) {
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
  // The simulation lacks these features.
  EXPECT_THAT(create({{"Size", Value::Uint64(kMiB)}}), Returns(1));
  EXPECT_THAT(create({{"UseMaximumSize", yes}, {"AssignDriveLetter", yes}}), Returns(1));
  EXPECT_THAT(*All(Query("MSFT_Partition").Where("DiskNumber", Value::Uint32(2))), SizeIs(1));
}

TEST_F(StorageMethodsTest, Refresh) {
  EXPECT_THAT(Invoke(Disk(0), "Refresh"), Returns(0));
  EXPECT_THAT(Invoke(Disk(1), "Refresh"), Returns(41000));
  EXPECT_THAT(Invoke(Disk(3), "Refresh"), Returns(41003));
}

TEST_F(StorageMethodsTest, OnlineAndOffline) {
  EXPECT_THAT(Invoke(Disk(3), "Online"), Returns(0));
  EXPECT_THAT(Disk(3).GetBoolean("IsOffline"), Yields(false));
  // The disk is still read-only, as it was attached.
  EXPECT_THAT(Disk(3).GetBoolean("IsReadOnly"), Yields(true));
  EXPECT_THAT(Invoke(Disk(3), "SetAttributes", {{"IsReadOnly", Value::Boolean(false)}}),
              Returns(0));
  EXPECT_THAT(Disk(3).GetBoolean("IsReadOnly"), Yields(false));
  EXPECT_THAT(Invoke(Disk(3), "Offline"), Returns(0));
  EXPECT_THAT(Disk(3).GetBoolean("IsOffline"), Yields(true));
}

TEST_F(StorageMethodsTest, TheSystemDiskIsCritical) {
  EXPECT_THAT(Invoke(Disk(0), "Offline"), Returns(41009));
  EXPECT_THAT(Disk(0).GetBoolean("IsOffline"), Yields(false));
  EXPECT_THAT(Invoke(Disk(0), "SetAttributes", {{"IsReadOnly", Value::Boolean(true)}}),
              Returns(41009));
  EXPECT_THAT(Invoke(Volume(TestVolume(1)), "Format"), Returns(42010));
}

TEST_F(StorageMethodsTest, TellWhatWindowsSaysOfADisk) {
  node_->core()->Change([](NodeState& state) {
    state.disks[1].facts = {.bus_type = 17,
                            .offline_reason = 4,
                            .health = 2,
                            .unique_id = "",
                            .is_boot = true,
                            .is_system = false,
                            .eui = "0025385b71b00a1c",
                            .scsi_name = "",
                            .disk_id = ""};
  });
  EXPECT_THAT(Disk(1).Get("BusType"), Yields(Value::Uint16(17)));
  EXPECT_THAT(Disk(1).Get("HealthStatus"), Yields(Value::Uint16(2)));
  EXPECT_TRUE(Disk(1).Get("OfflineReason")->is_null()) << "it is online";
  EXPECT_THAT(Disk(1).Get("UniqueIdFormat"), Yields(Value::Uint16(2)));
  EXPECT_THAT(Disk(1).GetString("UniqueId"), Yields("eui.0025385B71B00A1C"));
  EXPECT_THAT(Disk(1).GetBoolean("IsBoot"), Yields(true));
  EXPECT_THAT(Disk(1).GetBoolean("IsSystem"), Yields(false));
  // The disk carries Windows now.
  EXPECT_THAT(Invoke(Disk(1), "Offline"), Returns(41009));
  EXPECT_THAT(Invoke(Disk(1), "SetAttributes", {{"IsReadOnly", Value::Boolean(true)}}),
              Returns(41009));
  EXPECT_THAT(Disk(3).Get("OfflineReason"), Yields(Value::Uint16(1))) << "by policy";
  EXPECT_THAT(Invoke(Disk(3), "SetAttributes", {{"IsReadOnly", Value::Boolean(false)}}),
              Returns(41003))
      << "learn.microsoft.com/windows-hardware/drivers/storage/msft-disk-setattributes: it must be "
         "online";
}

TEST_F(StorageMethodsTest, AFormatSetsTheLabelAndMakesWell) {
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

TEST_F(StorageMethodsTest, SetAttributesNeedsOne) {
  EXPECT_THAT(Invoke(Disk(1), "SetAttributes"), Returns(5));
  EXPECT_THAT(Invoke(Disk(1), "SetAttributes", {{"Signature", Value::Uint32(1)}}), Returns(1));
}

TEST_F(StorageMethodsTest, SupportedSizeAndResize) {
  const auto size = Invoke(Partition(2, 1), "GetSupportedSize");
  ASSERT_THAT(size, Returns(0));
  // The machine says what to expect, because the host does not ask how far a volume can shrink.
  const auto expected =
      node_->core()->Change([](NodeState& state) -> absl::StatusOr<SupportedSize> {
        const absl::StatusOr<VolumePlace> place = FindVolume(state, TestVolume(2));
        if (!place.ok()) return place.status();
        return GetSupportedSize(state, *place);
      });
  ASSERT_THAT(expected, IsOk());
  EXPECT_LT(expected->min_bytes, 512 * kMiB);
  EXPECT_EQ(*size->out.GetUint64("SizeMin"), expected->min_bytes);
  EXPECT_EQ(*size->out.GetUint64("SizeMax"), expected->max_bytes);
  const auto resize = [&](uint64_t bytes) {
    return Invoke(Partition(2, 1), "Resize", {{"Size", Value::Uint64(bytes)}});
  };
  EXPECT_THAT(resize(0), Returns(5));
  EXPECT_THAT(resize(expected->max_bytes + kMiB), Returns(4097));
  EXPECT_THAT(resize(expected->max_bytes), Returns(0));
  EXPECT_THAT(Partition(2, 1).GetUint64("Size"), Yields(expected->max_bytes));
  EXPECT_THAT(Volume(TestVolume(2)).GetUint64("Size"), Yields(expected->max_bytes));
}

TEST_F(StorageMethodsTest, SomePartitionsHaveNoOtherSize) {
  // The reserved one.
  EXPECT_THAT(Invoke(Partition(0, 2), "GetSupportedSize"), Returns(42009));
  EXPECT_THAT(Invoke(Partition(0, 2), "Resize", {{"Size", Value::Uint64(kGiB)}}), Returns(42009));
  const cim::Object partition = Partition(2, 1);
  ASSERT_THAT(Invoke(partition, "Online"), Returns(0));
  ASSERT_THAT(Invoke(Disk(2), "Offline"), Returns(0));
  EXPECT_THAT(Invoke(partition, "GetSupportedSize"), Returns(41003));
  EXPECT_THAT(Invoke(partition, "Resize", {{"Size", Value::Uint64(kGiB)}}), Returns(41003));
  EXPECT_THAT(Invoke(partition, "Online"), Returns(41003));
}

TEST_F(StorageMethodsTest, Format) {
  ASSERT_THAT(Invoke(Disk(1), "Initialize"), Returns(0));
  ASSERT_THAT(Invoke(Disk(1), "CreatePartition", kMaximum), Returns(0));
  const cim::Object volume = VolumeOn(1);
  EXPECT_THAT(Invoke(volume, "Format", {{"FileSystem", Value::String("EXT4")}}), Returns(43001));
  EXPECT_THAT(Invoke(volume, "Format", {{"AllocationUnitSize", Value::Uint32(1000)}}),
              Returns(43000));
  const auto formatted = Invoke(volume, "Format",
                                {{"FileSystem", Value::String("NTFS")},
                                 {"FileSystemLabel", Value::String("")},
                                 {"Full", Value::Boolean(false)},
                                 {"Force", Value::Boolean(true)}});
  ASSERT_THAT(formatted, Returns(0));
  EXPECT_EQ(*formatted->out.Get("FormattedVolume")->AsObject(), VolumeOn(1));
  EXPECT_THAT(VolumeOn(1).GetUint32("FileSystemType"), Yields(14U));
  EXPECT_THAT(Invoke(VolumeOn(5), "Format"), Returns(43006));
}

TEST_F(StorageMethodsTest, Flush) {
  EXPECT_THAT(Invoke(Volume(TestVolume(2)), "Flush"), Returns(0));
}

TEST_F(StorageMethodsTest, UpdateHostStorageCacheSeesNewDisksAndGrowth) {
  auto disk = RawDisk(kGiB);
  disk.awaits_rescan = true;
  ASSERT_THAT(node_->AttachDisk(disk, 9), IsOk());
  ASSERT_THAT(node_->GrowDisk(1, 2 * kGiB), IsOk());
  EXPECT_THAT(*All(Query("MSFT_Disk").Where("Number", Value::Uint32(9))), IsEmpty());
  EXPECT_THAT(InvokeStatic("MSFT_StorageSetting", "UpdateHostStorageCache"), Returns(0));
  EXPECT_THAT(Disk(9).GetUint64("Size"), Yields(kGiB));
  EXPECT_THAT(Disk(1).GetUint64("Size"), Yields(2 * kGiB));
}

TEST_F(StorageMethodsTest, WhatTheSimulationCannotDoIsNotSupported) {
  EXPECT_THAT(Invoke(Disk(1), "Clear"), Returns(1));
  EXPECT_THAT(Invoke(Partition(2, 1), "Offline"), Returns(1));
  EXPECT_THAT(InvokeStatic("MSFT_StorageSetting", "Get"), Returns(1));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator::wmi
