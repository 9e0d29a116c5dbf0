#include "server/host/windows/devices.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/win32_error.h"

namespace csi_proxy::host::windows {
namespace {

// More than any answer of fixed size has.
constexpr size_t kSmallAnswer = 64;

absl::StatusOr<Bytes> AskDisk(Os& os, uint32_t disk_number, DeviceAccess access, uint32_t code,
                              const Bytes& input, absl::string_view what) {
  absl::StatusOr<Bytes> answer = os.Control(absl::StrCat("\\\\.\\PhysicalDrive", disk_number),
                                            access, code, input, kSmallAnswer);
  if (HasWin32Code(answer.status(), win32_error::kFileNotFound)) return NoDisk(disk_number);
  if (!answer.ok()) {
    return Prefixed(absl::StrCat(what, " of disk ", disk_number), answer.status());
  }
  return answer;
}

// With the backslash a volume's name is that of its root directory, without it that of the volume
// (learn.microsoft.com/windows/win32/fileio/naming-a-volume).
std::string Device(const std::string& volume) {
  return std::string(absl::StripSuffix(volume, "\\"));
}

}  // namespace

absl::Status NoDisk(uint32_t disk_number) {
  return absl::NotFoundError(absl::StrCat("there is no disk ", disk_number));
}

absl::StatusOr<uint64_t> GetDiskLength(Os& os, uint32_t disk_number) {
  const absl::StatusOr<Bytes> answer =
      AskDisk(os, disk_number, DeviceAccess::kRead, control::kGetLength, {}, "asking for the size");
  if (!answer.ok()) return answer.status();
  return ParseLength(*answer);
}

absl::StatusOr<DiskAttributes> GetDiskAttributes(Os& os, uint32_t disk_number) {
  const absl::StatusOr<Bytes> answer =
      AskDisk(os, disk_number, DeviceAccess::kNone, control::kGetDiskAttributes, {},
              "asking for the attributes");
  if (!answer.ok()) return answer.status();
  return ParseDiskAttributes(*answer);
}

absl::Status ClearReadOnly(Os& os, uint32_t disk_number) {
  return AskDisk(os, disk_number, DeviceAccess::kReadWrite, control::kSetDiskAttributes,
                 ClearReadOnlyRequest(), "clearing the read-only flag")
      .status();
}

absl::Status CheckDisk(Os& os, uint32_t disk_number) {
  return AskDisk(os, disk_number, DeviceAccess::kNone, control::kGetDeviceNumber, {},
                 "asking for the number")
      .status();
}

absl::StatusOr<std::vector<DiskExtent>> GetVolumeExtents(Os& os, const std::string& volume) {
  const absl::StatusOr<Bytes> answer = os.Control(Device(volume), DeviceAccess::kNone,
                                                  control::kGetVolumeDiskExtents, {}, kMaxExtents);
  if (!answer.ok()) {
    return Prefixed(absl::StrCat("asking volume ", volume, " for its disks"), answer.status());
  }
  absl::StatusOr<std::vector<DiskExtent>> extents = ParseDiskExtents(*answer);
  if (extents.ok() && extents->empty()) {
    return absl::InternalError(absl::StrCat("volume ", volume, " lies on no disk"));
  }
  return extents;
}

absl::StatusOr<uint32_t> GetPartitionNumber(Os& os, const std::string& volume) {
  const absl::StatusOr<Bytes> answer =
      os.Control(Device(volume), DeviceAccess::kNone, control::kGetDeviceNumber, {}, kSmallAnswer);
  if (!answer.ok()) {
    return Prefixed(absl::StrCat("asking volume ", volume, " for its partition"), answer.status());
  }
  const absl::StatusOr<DeviceNumber> number = ParseDeviceNumber(*answer);
  if (!number.ok()) return number.status();
  return number->partition_number;
}

}  // namespace csi_proxy::host::windows
