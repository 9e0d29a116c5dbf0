#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/machine/layouts.h"
#include "server/machine/layouts_encode.h"
#include "server/simulator/win32/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

using machine::Bytes;
using machine::DeviceAccess;
namespace control = machine::control;

constexpr size_t kEnough = 64 * 1024;

std::string PhysicalDrive(uint32_t number) { return absl::StrCat("\\\\.\\PhysicalDrive", number); }
std::string DeviceOf(const std::string& volume) { return volume.substr(0, volume.size() - 1); }

class DevicesTest : public Win32Test {
 protected:
  absl::StatusOr<Bytes> Ask(const std::string& device, uint32_t code, const Bytes& input = {},
                            DeviceAccess access = DeviceAccess::kReadWrite) {
    return os_->Control(device, access, code, input, kEnough);
  }
  absl::StatusOr<std::string> Page83(const std::string& device) {
    const auto answer = Ask(device, control::kQueryProperty, machine::DeviceIdQuery());
    if (!answer.ok()) return answer.status();
    const auto ids = machine::ParseDeviceIds(*answer);
    if (!ids.ok()) return ids.status();
    return ids->page83;
  }
};

TEST_F(DevicesTest, DevicePathsNameDisks) {
  for (const uint32_t number : {0u, 7u, 4294967295u}) {
    EXPECT_EQ(DiskNumberOfPath(DevicePath(number)), number);
  }
  EXPECT_EQ(DiskNumberOfPath(absl::AsciiStrToUpper(DevicePath(12))), 12u);
  for (const std::string& other :
       {std::string(), std::string("\\\\.\\PhysicalDrive0"), DevicePath(1) + "x",
        DevicePath(1).substr(1), DeviceOf(kSystemVolume)}) {
    EXPECT_EQ(DiskNumberOfPath(other), std::nullopt) << other;
  }
}

TEST_F(DevicesTest, TellsDeviceNumbers) {
  const std::string volume = NewVolume(1);
  const struct {
    std::string device;
    uint32_t disk;
    uint32_t partition;
  } kCases[] = {{PhysicalDrive(2), 2, 0},
                {"\\\\.\\physicaldrive2", 2, 0},
                {DevicePath(3), 3, 0},
                {DeviceOf(kSystemVolume), 0, 3},
                {DeviceOf(volume), 1, 2}};
  for (const auto& c : kCases) {
    const auto answer = Ask(c.device, control::kGetDeviceNumber, {}, DeviceAccess::kNone);
    ASSERT_THAT(answer, IsOk()) << c.device;
    const auto number = machine::ParseDeviceNumber(*answer);
    EXPECT_EQ(number->device_number, c.disk) << c.device;
    EXPECT_EQ(number->partition_number, c.partition) << c.device;
    EXPECT_EQ(number->device_type, 7u) << c.device;
  }
}

// The adapter is the port and the port the path, as azuredisk reads a location; an NVMe disk's
// location has no LUN.
TEST_F(DevicesTest, TellsScsiAddresses) {
  Change([](NodeState& state) {
    state.disks[1].location = "Integrated : Bus 0 : Adapter 3 : Port 2 : Target 1 : LUN 61";
    state.disks[2].location = "Integrated : Bus 12606208 : Device 0 : Function 0 : Adapter 4";
    state.disks[2].facts.lun = 7;
  });
  EXPECT_THAT(Ask(PhysicalDrive(1), control::kGetScsiAddress, {}, DeviceAccess::kNone),
              Yields(Bytes{8, 0, 0, 0, 3, 2, 1, 61}));
  EXPECT_THAT(Ask(PhysicalDrive(2), control::kGetScsiAddress),
              Yields(Bytes{8, 0, 0, 0, 4, 0, 0, 7}));
}

// The identifier is neither ASCII nor binary, so callers do not see it among the identifiers.
TEST_F(DevicesTest, AScsiNameStringIsInPage83) {
  const std::string name = "vol0aac41d8e2b7f5c930001Amazon Elastic Block Store              1D0F";
  Change([&](NodeState& state) {
    state.disks[2].page83.clear();
    state.disks[2].facts.scsi_name = name;
  });
  const Bytes answer = *Ask(PhysicalDrive(2), control::kQueryProperty, machine::DeviceIdQuery());
  EXPECT_NE(std::search(answer.begin(), answer.end(), name.begin(), name.end()), answer.end());
  EXPECT_THAT(Page83(PhysicalDrive(2)), Yields(""));
}

TEST_F(DevicesTest, ThereIsNoOtherDevice) {
  Change([](NodeState& state) { state.disks[1].awaits_rescan = true; });
  for (const std::string& device :
       {std::string(), std::string("C:"), PhysicalDrive(1), DevicePath(1), PhysicalDrive(99),
        std::string("\\\\.\\PhysicalDrive"), std::string("\\\\.\\PhysicalDrive02"),
        PhysicalDrive(10), DeviceOf(kNoVolume), std::string(kNoVolume)}) {
    EXPECT_THAT(Ask(device, control::kGetDeviceNumber), FailsWithWin32(win32_error::kFileNotFound))
        << device;
  }
  // The path names the root directory of a volume, not its device.
  EXPECT_THAT(Ask(kSystemVolume, control::kGetDeviceNumber),
              FailsWithWin32(win32_error::kAccessDenied));
  // A disk that goes offline loses its volumes, but stays.
  const std::string volume = NewVolume(2);
  ASSERT_THAT(host_->disk().SetOnline(context_, 2, false), IsOk());
  EXPECT_THAT(Ask(DeviceOf(volume), control::kGetDeviceNumber),
              FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(Ask(PhysicalDrive(2), control::kGetDeviceNumber), IsOk());
}

TEST_F(DevicesTest, TellsPage83) {
  EXPECT_THAT(Page83(DevicePath(0)), Yields("systemdisk"));
  EXPECT_THAT(Page83(DevicePath(1)), Yields("60022480a1b2c3d4e5f60718293a4b5c"));
  EXPECT_THAT(Page83(DevicePath(2)), Yields("nvme.1d0f-766f6c30353433"));
  EXPECT_THAT(Page83(PhysicalDrive(3)), Yields("Google  pvc-1f2e3d4c"));
  EXPECT_THAT(Page83(DeviceOf(kSystemVolume)), Yields("systemdisk"));
  EXPECT_THAT(Page83(DevicePath(4)), FailsWithWin32(win32_error::kNotReady));
  Change([](NodeState& state) { state.disks[1].page83 = ""; });
  EXPECT_THAT(Page83(DevicePath(1)), Yields(""));
}

TEST_F(DevicesTest, TellsTheNamesOfAnNvmeNamespace) {
  const auto ids = [&] {
    return machine::ParseDeviceIds(
        *Ask(DevicePath(1), control::kQueryProperty, machine::DeviceIdQuery()));
  };
  EXPECT_EQ(ids()->eui, "");
  EXPECT_EQ(ids()->nvme_namespace_id, 0u);
  Change([](NodeState& state) {
    state.disks[1].facts.eui = "0025385b71b00a1c0025385b71b00a1c";
    state.disks[1].facts.nvme_namespace_id = 0x1F;
    state.disks[1].serial_number = "longer than the twenty characters of NVMe";
  });
  EXPECT_EQ(ids()->page83, "60022480a1b2c3d4e5f60718293a4b5c");
  EXPECT_EQ(ids()->eui, "0025385b71b00a1c0025385b71b00a1c");
  EXPECT_EQ(ids()->nvme_namespace_id, 0x1Fu);
  Change([](NodeState& state) { state.disks[1].page83 = ""; });
  EXPECT_EQ(ids()->page83, "0025385b71b00a1c0025385b71b00a1c");
}

TEST_F(DevicesTest, TellsWhetherAVolumeIsDirty) {
  const auto ask = [&](DeviceAccess access) {
    return Ask(DeviceOf(kSystemVolume), control::kIsVolumeDirty, {}, access);
  };
  EXPECT_THAT(machine::ParseIsDirty(*ask(DeviceAccess::kRead)), Yields(false));
  Change([](NodeState& state) { state.disks[0].partitions[2].volume->dirty = true; });
  EXPECT_THAT(machine::ParseIsDirty(*ask(DeviceAccess::kRead)), Yields(true));
  // A handle without rights reaches the device, not the file system.
  EXPECT_THAT(ask(DeviceAccess::kNone), FailsWithWin32(win32_error::kInvalidParameter));
  const std::string unformatted = NewVolume(2);
  Change([](NodeState& state) { state.disks[2].partitions.back().volume->file_system = ""; });
  EXPECT_THAT(Ask(DeviceOf(unformatted), control::kIsVolumeDirty, {}, DeviceAccess::kRead),
              FailsWithWin32(win32_error::kInvalidFunction));
}

TEST_F(DevicesTest, KnowsNoOtherProperty) {
  Bytes query = machine::DeviceIdQuery();
  EXPECT_THAT(Ask(DevicePath(1), control::kQueryProperty, Bytes(query.begin(), query.begin() + 7)),
              FailsWithWin32(win32_error::kInvalidParameter));
  query[0] = 0;  // StorageDeviceProperty
  EXPECT_THAT(Ask(DevicePath(1), control::kQueryProperty, query),
              FailsWithWin32(win32_error::kNotSupported));
  query = machine::DeviceIdQuery();
  query[4] = 1;  // PropertyExistsQuery
  EXPECT_THAT(Ask(DevicePath(1), control::kQueryProperty, query),
              FailsWithWin32(win32_error::kNotSupported));
}

TEST_F(DevicesTest, TellsLengths) {
  const auto length = [&](const std::string& device) {
    return machine::ParseLength(*Ask(device, control::kGetLength, {}, DeviceAccess::kRead));
  };
  EXPECT_THAT(length(PhysicalDrive(0)), Yields(68719476736u));
  EXPECT_THAT(length(DeviceOf(kSystemVolume)), Yields(68000000000u));
  // The grown size of the hardware shows after a rescan.
  ASSERT_THAT(node_->GrowDisk(1, 20 * kGiB), IsOk());
  EXPECT_THAT(length(PhysicalDrive(1)), Yields(10 * kGiB));
  Change([](NodeState& state) { Rescan(state); });
  EXPECT_THAT(length(PhysicalDrive(1)), Yields(20 * kGiB));
}

TEST_F(DevicesTest, DiskAttributesChange) {
  const auto attributes = [&] {
    return *machine::ParseDiskAttributes(
        *Ask(PhysicalDrive(3), control::kGetDiskAttributes, {}, DeviceAccess::kNone));
  };
  EXPECT_TRUE(attributes().is_offline);
  EXPECT_TRUE(attributes().is_read_only);
  const Bytes clear = machine::ClearReadOnlyRequest();
  EXPECT_THAT(Ask(PhysicalDrive(3), control::kSetDiskAttributes, clear), IsOk());
  EXPECT_TRUE(attributes().is_offline);
  EXPECT_FALSE(attributes().is_read_only);

  EXPECT_THAT(Ask(PhysicalDrive(3), control::kSetDiskAttributes, {}),
              FailsWithWin32(win32_error::kInvalidParameter));
  Bytes online = clear;
  online[16] = 1;  // AttributesMask: DISK_ATTRIBUTE_OFFLINE
  EXPECT_THAT(Ask(PhysicalDrive(3), control::kSetDiskAttributes, online),
              FailsWithWin32(win32_error::kNotSupported));
}

TEST_F(DevicesTest, TellsWhereVolumesLie) {
  const std::string volume = NewVolume(1);
  const auto extents = machine::ParseDiskExtents(
      *Ask(DeviceOf(volume), control::kGetVolumeDiskExtents, {}, DeviceAccess::kNone));
  ASSERT_THAT(extents, IsOk());
  ASSERT_EQ(extents->size(), 1u);
  EXPECT_EQ(extents->front().disk_number, 1u);
  Change([&](NodeState& state) {
    const DiskPartition& partition = (*FindDisk(state, 1))->partitions[1];
    EXPECT_EQ(extents->front().offset, partition.offset_bytes);
    EXPECT_EQ(extents->front().length, partition.size_bytes);
  });
}

TEST_F(DevicesTest, CodesWantTheirDeviceAndTheirAccess) {
  const std::string volume = DeviceOf(kSystemVolume);
  for (const uint32_t code : {control::kGetDiskAttributes, control::kSetDiskAttributes}) {
    EXPECT_THAT(Ask(volume, code), FailsWithWin32(win32_error::kInvalidFunction));
  }
  EXPECT_THAT(Ask(PhysicalDrive(0), control::kGetVolumeDiskExtents),
              FailsWithWin32(win32_error::kInvalidFunction));
  EXPECT_THAT(Ask(PhysicalDrive(0), 0x70000), FailsWithWin32(win32_error::kInvalidFunction));

  EXPECT_THAT(Ask(PhysicalDrive(1), control::kGetLength, {}, DeviceAccess::kNone),
              FailsWithWin32(win32_error::kAccessDenied));
  for (const DeviceAccess access : {DeviceAccess::kNone, DeviceAccess::kRead}) {
    EXPECT_THAT(
        Ask(PhysicalDrive(3), control::kSetDiskAttributes, machine::ClearReadOnlyRequest(), access),
        FailsWithWin32(win32_error::kAccessDenied));
  }
}

TEST_F(DevicesTest, AnswersThatDoNotFitFail) {
  EXPECT_THAT(
      os_->Control(PhysicalDrive(0), DeviceAccess::kNone, control::kGetDeviceNumber, {}, 11),
      FailsWithWin32(win32_error::kMoreData));
  EXPECT_THAT(
      os_->Control(PhysicalDrive(0), DeviceAccess::kNone, control::kGetDeviceNumber, {}, 12),
      IsOk());
}

TEST_F(DevicesTest, ReadsWhatWasWritten) {
  const auto text = [&](const std::string& device, uint64_t offset, size_t at, size_t size) {
    const auto bytes = os_->Read(device, offset, 512);
    EXPECT_THAT(bytes, IsOk());
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()).substr(at, size) : "";
  };
  // Nothing yet.
  EXPECT_EQ(*os_->Read(PhysicalDrive(1), 0, 4096), Bytes(4096));
  node_->core()->Change([](NodeState& state) {
    state.disks[1].foreign = {{1080, "ext4"}, {20 * kMiB, "old"}};
  });
  EXPECT_EQ(text(PhysicalDrive(1), 1024, 56, 4), "ext4");
  // A partition table overwrites the old bytes at the beginning and at the end.
  const std::string volume = NewVolume(1, false);
  const uint64_t size = node_->Snapshot().disks[1].size_bytes;
  EXPECT_EQ(text(PhysicalDrive(1), 512, 0, 8), "EFI PART");
  EXPECT_EQ(text(PhysicalDrive(1), 1024, 56, 1), std::string(1, '\0'));
  EXPECT_EQ(text(PhysicalDrive(1), size - 512, 0, 8), "EFI PART");
  // The volume begins at 17 MiB, and shows the old bytes until it is formatted.
  EXPECT_EQ(text(DeviceOf(volume), 3 * kMiB, 0, 3), "old");
  EXPECT_EQ(*os_->Read(DeviceOf(volume), 0, 512), Bytes(512));
  EXPECT_THAT(host_->volume().Format(context_, *VolumeId::Parse(volume), {}), IsOk());
  EXPECT_EQ(text(DeviceOf(volume), 0, 3, 4), "NTFS");
  EXPECT_EQ(text(PhysicalDrive(1), 17 * kMiB, 3, 4), "NTFS");
  EXPECT_EQ(text(DeviceOf(volume), 3 * kMiB, 0, 1), std::string(1, '\0'));
}

TEST_F(DevicesTest, ReadsToTheEndBySectors) {
  const uint64_t size = node_->Snapshot().disks[1].size_bytes;
  EXPECT_EQ(os_->Read(PhysicalDrive(1), size - 512, 4096)->size(), 512u);
  EXPECT_EQ(os_->Read(PhysicalDrive(1), size, 512)->size(), 0u);
  EXPECT_THAT(os_->Read(PhysicalDrive(1), 1, 512), FailsWithWin32(win32_error::kInvalidParameter));
  EXPECT_THAT(os_->Read(PhysicalDrive(1), 0, 511), FailsWithWin32(win32_error::kInvalidParameter));
  EXPECT_THAT(os_->Read(PhysicalDrive(99), 0, 512), FailsWithWin32(win32_error::kFileNotFound));
  node_->core()->Change([](NodeState& state) { state.disks[1].online = false; });
  EXPECT_THAT(os_->Read(PhysicalDrive(1), 0, 512), FailsWithWin32(win32_error::kNotReady));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator
