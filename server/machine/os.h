// The calls of Win32 that the host needs: each method is one documented call or a fixed sequence of
// calls, and makes no decisions. windows/ implements it with the real calls, simulated/ in memory,
// so that everything above it runs, and can be tested, on any system.
//
// Text is UTF-8. Every error is a Win32Status(): Win32CodeOf() returns Windows' error code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace csi_proxy::machine {

using Bytes = std::vector<uint8_t>;

// The purpose of opening an entry.
enum class Access {
  // To read its attributes and content.
  kRead,
  // The same, keeping nobody from renaming or deleting it.
  kPeek,
  // Also to delete it.
  kDelete,
  // Also to make it a link.
  kWriteAttributes,
};

// Attributes of an open entry (FILE_ATTRIBUTE_TAG_INFORMATION).
struct FileAttributes {
  bool is_directory = false;
  bool is_reparse_point = false;
  // Meaningful for a reparse point.
  uint32_t reparse_tag = 0;
};

// An entry as the listing of a directory shows it.
struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  bool is_reparse_point = false;
};

// An open file or directory, or a reparse point itself, never its target. While it is open, except
// with kPeek, nobody can rename or delete the entry. The destructor closes it. For one thread at a
// time.
class File {
 public:
  virtual ~File() = default;

  virtual absl::StatusOr<FileAttributes> GetAttributes() = 0;

  // Opens `name`, a single component, relative to the handle of this directory, so that the path to
  // it does not matter (NtCreateFile with RootDirectory and FILE_OPEN_REPARSE_POINT).
  // ERROR_SHARING_VIOLATION while somebody has it open without sharing this access;
  // ERROR_DELETE_PENDING while it is deleted but still open somewhere.
  virtual absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name, Access access) = 0;

  // The same for an entry that `names` lead to, one below the other, at least one, in one call.
  // ERROR_REPARSE_POINT_ENCOUNTERED when any but the last is a link or mount point
  // (OBJ_DONT_REPARSE, learn.microsoft.com/windows/win32/api/ntdef/ns-ntdef-_object_attributes).
  virtual absl::StatusOr<std::unique_ptr<File>> OpenBelow(const std::vector<std::string>& names,
                                                          Access access) = 0;

  // Creates directory `name` here, and opens it with kWriteAttributes. ERROR_ALREADY_EXISTS.
  virtual absl::StatusOr<std::unique_ptr<File>> CreateDirectory(const std::string& name) = 0;

  // The names in this directory, without `.` and `..`, in any order. Open() accepts all of them,
  // even if they are not UTF-8: half a surrogate pair, which NTFS allows, is three bytes here.
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;

  // The next entries of this directory, some hundred at a time, named as by List(), in any order;
  // the first ones when `restart`, none after the last.
  virtual absl::StatusOr<std::vector<DirectoryEntry>> ListNext(bool restart) = 0;

  // Deletes the entry, which is open with kDelete, even if read-only. ERROR_DIR_NOT_EMPTY.
  virtual absl::Status Delete() = 0;

  // The data of a reparse point as FSCTL_GET_REPARSE_POINT gives it: see reparse_point.h.
  // ERROR_NOT_A_REPARSE_POINT.
  virtual absl::StatusOr<Bytes> ReadReparsePoint() = 0;

  // Turns an empty directory, open with kWriteAttributes, into a link (FSCTL_SET_REPARSE_POINT).
  virtual absl::Status WriteReparsePoint(const Bytes& data) = 0;

  // Makes a link or mount point of this tag, open with kWriteAttributes, a plain directory again
  // (FSCTL_DELETE_REPARSE_POINT). ERROR_NOT_A_REPARSE_POINT, ERROR_REPARSE_TAG_MISMATCH.
  virtual absl::Status DeleteReparsePoint(uint32_t tag) = 0;
};

struct VolumeSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  // Less than the free bytes where the caller has a quota.
  uint64_t available_bytes = 0;
};

struct FileSystem {
  std::string name;  // `NTFS`
  // FILE_READ_ONLY_VOLUME: the file system takes no writes, since it was mounted while its disk was
  // read-only, say
  // (learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getvolumeinformationw).
  bool read_only = false;
};

// The ways to open a device: some control codes need a handle that may read or write.
enum class DeviceAccess { kNone, kRead, kReadWrite };

// With the numbers of SERVICE_STATUS.dwCurrentState.
enum class ServiceState {
  kUnknown = 0,
  kStopped = 1,
  kStartPending = 2,
  kStopPending = 3,
  kRunning = 4,
  kContinuePending = 5,
  kPausePending = 6,
  kPaused = 7,
};

// With the numbers of QUERY_SERVICE_CONFIG.dwStartType.
enum class ServiceStartType { kBoot = 0, kSystem = 1, kAutomatic = 2, kManual = 3, kDisabled = 4 };

struct ServiceInfo {
  std::string display_name;
  ServiceStartType start_type = ServiceStartType::kManual;
  ServiceState state = ServiceState::kUnknown;
};

// Thread-safe.
class Os {
 public:
  virtual ~Os() = default;

  // Files.

  // The root directory of a drive (`C:\`) or a volume (`\\?\Volume{guid}\`).
  virtual absl::StatusOr<std::unique_ptr<File>> OpenRoot(const std::string& root) = 0;
  // Follows links and reaches for the entry at a path (GetFileAttributesW): OK, or the reason of
  // the failure. For paths on servers.
  virtual absl::Status Reach(const std::string& path) = 0;

  // Volumes. `volume` is `\\?\Volume{guid}\`.

  // FindFirstVolumeW: every volume of the node, as `\\?\Volume{guid}\`.
  virtual absl::StatusOr<std::vector<std::string>> ListVolumes() = 0;
  // GetVolumeNameForVolumeMountPointW of a drive's root, `C:\`.
  virtual absl::StatusOr<std::string> GetVolumeOfDrive(char drive) = 0;
  // GetVolumeInformationW. ERROR_UNRECOGNIZED_VOLUME when it has no file system.
  virtual absl::StatusOr<FileSystem> GetFileSystem(const std::string& volume) = 0;
  // GetDiskFreeSpaceExW of a volume or of a directory on a server, `\\host\share\a\`.
  virtual absl::StatusOr<VolumeSpace> GetSpace(const std::string& volume) = 0;
  // GetVolumePathNamesForVolumeNameW: the drives (`D:\`) and folders (`C:\a\b\`) at which it is
  // mounted, in any order.
  virtual absl::StatusOr<std::vector<std::string>> ListMountPoints(const std::string& volume) = 0;
  // FlushFileBuffers of the volume.
  virtual absl::Status Flush(const std::string& volume) = 0;
  // SetVolumeMountPointW. `directory`, an empty one, is handed on as it is: `C:\a\b\`,
  // `\\?\Volume{guid}\a\`. ERROR_INVALID_NAME without the backslash at the end.
  virtual absl::Status SetMountPoint(const std::string& directory, const std::string& volume) = 0;
  // DeleteVolumeMountPointW; the directory stays.
  virtual absl::Status DeleteMountPoint(const std::string& directory) = 0;

  // Devices.

  // Opens `device` (`\\.\PhysicalDrive1`, `\\?\Volume{guid}` without the last backslash, or a
  // device path of MSFT_Disk), sends one control code, closes. Returns the answer, at most
  // `max_output` bytes; ERROR_MORE_DATA when there is more.
  virtual absl::StatusOr<Bytes> Control(const std::string& device, DeviceAccess access,
                                        uint32_t code, const Bytes& input, size_t max_output) = 0;
  // Opens `device` likewise, reads `size` bytes from `offset` with one ReadFile, closes. Both are
  // multiples of the device's sector size. Bytes behind its end are left out.
  virtual absl::StatusOr<Bytes> Read(const std::string& device, uint64_t offset, size_t size) = 0;

  // A number that is another one after a disk or volume has come or gone. It may change at other
  // times as well, and stays as it is where Windows does not tell (CM_Register_Notification).
  virtual uint64_t DeviceChanges() = 0;
  // Returns when DeviceChanges() is no longer `seen`, after `limit` at the latest.
  virtual void AwaitDeviceChange(uint64_t seen, absl::Duration limit) = 0;

  // Services, by the service control manager. ERROR_SERVICE_DOES_NOT_EXIST.

  virtual absl::StatusOr<ServiceInfo> GetService(const std::string& name) = 0;
  // EnumDependentServicesW with SERVICE_ACTIVE: all that depend on it, in the order to stop them.
  virtual absl::StatusOr<std::vector<std::string>> ListActiveDependents(
      const std::string& name) = 0;
  // StartServiceW.
  virtual absl::Status StartService(const std::string& name) = 0;
  // ControlService with SERVICE_CONTROL_STOP.
  virtual absl::Status StopService(const std::string& name) = 0;

  // Firmware.

  // GetSystemFirmwareTable of provider RSMB: RawSMBIOSData.
  virtual absl::StatusOr<Bytes> GetSmbiosTable() = 0;
};

// The real one. It has no state, but sets up the process: it enables the privileges to back up, to
// restore and to create links, if the process has them, and disables dialogs for missing media.
std::unique_ptr<Os> NewOs();

}  // namespace csi_proxy::machine
