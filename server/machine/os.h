// The Win32 calls that the host needs: each method is one documented call or a fixed sequence of
// calls, without decisions. windows/ calls Windows. The simulator works in memory, so the code that
// uses this interface runs, and is tested, on any system.
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

// The rights for opening an entry.
enum class Access {
  // Read its attributes and content.
  kRead,
  // kRead, but other handles may rename or delete the entry.
  kPeek,
  // kRead, and delete it.
  kDelete,
  // kRead, and make it a link.
  kWriteAttributes,
};

// The attributes of an open entry (FILE_ATTRIBUTE_TAG_INFORMATION).
struct FileAttributes {
  bool is_directory = false;
  bool is_reparse_point = false;
  // Only set for a reparse point.
  uint32_t reparse_tag = 0;
};

// An entry in a listing of its directory.
struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  bool is_reparse_point = false;
};

// A process that has an entry open.
struct FileUser {
  int64_t process_id = 0;
  // The file name of its program, `app.exe`; empty if unknown.
  std::string image_name;
};

// An open entry: a file, a directory, or a reparse point itself, never its target. While a File is
// open, no process can rename or delete the entry, unless the File was opened with kPeek. The
// destructor closes the handle. Not thread-safe.
class File {
 public:
  virtual ~File() = default;

  virtual absl::StatusOr<FileAttributes> GetAttributes() = 0;

  // Opens `name`, a single component, relative to the handle of this directory, so that changes of
  // the path above do not matter (NtCreateFile with RootDirectory and FILE_OPEN_REPARSE_POINT).
  // Returns ERROR_SHARING_VIOLATION while another handle does not share this access, and
  // ERROR_DELETE_PENDING while a deleted entry is still open elsewhere.
  virtual absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name, Access access) = 0;

  // Opens the entry at a relative path with the components `names`. Returns
  // ERROR_REPARSE_POINT_ENCOUNTERED if a component before the last is a link or mount point
  // (OBJ_DONT_REPARSE, learn.microsoft.com/windows/win32/api/ntdef/ns-ntdef-_object_attributes).
  // REQUIRES: `names` is not empty.
  virtual absl::StatusOr<std::unique_ptr<File>> OpenBelow(const std::vector<std::string>& names,
                                                          Access access) = 0;

  // Creates and opens directory `name` with kWriteAttributes, or returns ERROR_ALREADY_EXISTS.
  virtual absl::StatusOr<std::unique_ptr<File>> CreateDirectory(const std::string& name) = 0;

  // Returns the names in this directory, except `.` and `..`, in any order. Open() accepts each of
  // them. An unpaired surrogate, which NTFS allows in names, is three bytes that are not UTF-8.
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;

  // Returns the next entries of this directory, fewer than 1,000; the first ones if `restart` is
  // true; none at the end. The names are encoded as in List().
  virtual absl::StatusOr<std::vector<DirectoryEntry>> ListNext(bool restart) = 0;

  // Deletes the entry, even if read-only. ERROR_DIR_NOT_EMPTY for a directory with entries.
  // REQUIRES: opened with kDelete.
  virtual absl::Status Delete() = 0;

  // Returns the bytes for ParseReparsePoint() (FSCTL_GET_REPARSE_POINT), or
  // ERROR_NOT_A_REPARSE_POINT.
  virtual absl::StatusOr<Bytes> ReadReparsePoint() = 0;

  // Turns this directory into a link (FSCTL_SET_REPARSE_POINT). REQUIRES: the directory is empty
  // and opened with kWriteAttributes.
  virtual absl::Status WriteReparsePoint(const Bytes& data) = 0;

  // Turns this link or mount point into a plain directory (FSCTL_DELETE_REPARSE_POINT). Returns
  // ERROR_NOT_A_REPARSE_POINT for a plain entry, and ERROR_REPARSE_TAG_MISMATCH if the entry's tag
  // is not `tag`. REQUIRES: opened with kWriteAttributes.
  virtual absl::Status DeleteReparsePoint(uint32_t tag) = 0;

  // Returns the other processes that have entry `name` of this directory open. The query needs only
  // FILE_READ_ATTRIBUTES, so it works whatever sharing mode those processes chose
  // (FileProcessIdsUsingFileInformation; doubt 82 of server/host/doubts.md).
  virtual absl::StatusOr<std::vector<FileUser>> ListUsers(const std::string& /*name*/) {
    return std::vector<FileUser>();
  }
};

struct VolumeSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  // Less than `free_bytes` if the caller has a quota.
  uint64_t available_bytes = 0;
};

struct FileSystem {
  std::string name;  // `NTFS`
  // FILE_READ_ONLY_VOLUME: the file system refuses writes, for example because its disk was
  // read-only when it was mounted
  // (learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getvolumeinformationw).
  bool read_only = false;
};

// The names and addresses of this node in its networks.
struct NetworkNames {
  // The NetBIOS name, the DNS host name and the fully qualified DNS name, each at least once.
  std::vector<std::string> names;
  // Each has 4 or 16 bytes, in network order.
  std::vector<Bytes> addresses;
};

// The rights of a handle to a device. Some control codes need more than kNone.
enum class DeviceAccess { kNone, kRead, kReadWrite };

// The values of SERVICE_STATUS.dwCurrentState.
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

// The values of QUERY_SERVICE_CONFIG.dwStartType.
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

  // Opens the root directory of a drive (`C:\`) or a volume (`\\?\Volume{guid}\`).
  virtual absl::StatusOr<std::unique_ptr<File>> OpenRoot(const std::string& root) = 0;
  // Returns OK if the entry at a path on a server can be reached, else the error
  // (GetFileAttributesW).
  virtual absl::Status Reach(const std::string& path) = 0;

  // Volumes. REQUIRES: `volume` is `\\?\Volume{guid}\`.

  // Returns every volume of the node (FindFirstVolumeW).
  virtual absl::StatusOr<std::vector<std::string>> ListVolumes() = 0;
  // Returns the volume at a drive's root (GetVolumeNameForVolumeMountPointW).
  virtual absl::StatusOr<std::string> GetVolumeOfDrive(char drive) = 0;
  // Returns a volume's file system (GetVolumeInformationW). ERROR_UNRECOGNIZED_VOLUME if the volume
  // has no file system.
  virtual absl::StatusOr<FileSystem> GetFileSystem(const std::string& volume) = 0;
  // Returns a volume's size and free space (GetDiskFreeSpaceExW). `volume` may also be a directory
  // on a server, `\\host\share\a\`.
  virtual absl::StatusOr<VolumeSpace> GetSpace(const std::string& volume) = 0;
  // Returns the volume's mount points in any order: drives (`D:\`) and folders (`C:\a\b\`)
  // (GetVolumePathNamesForVolumeNameW).
  virtual absl::StatusOr<std::vector<std::string>> ListMountPoints(const std::string& volume) = 0;
  // Writes the volume's cached data to its disks (FlushFileBuffers).
  virtual absl::Status Flush(const std::string& volume) = 0;
  // Mounts `volume` at an empty directory (SetVolumeMountPointW). Passes the directory's path to
  // Windows unchanged: `C:\a\b\`, `\\?\Volume{guid}\a\`. Returns ERROR_INVALID_NAME for a path
  // without the trailing backslash.
  virtual absl::Status SetMountPoint(const std::string& directory, const std::string& volume) = 0;
  // Removes a mount point but not its directory (DeleteVolumeMountPointW).
  virtual absl::Status DeleteMountPoint(const std::string& directory) = 0;

  // Devices.

  // Sends one control code to `device`: `\\.\PhysicalDrive1`, `\\?\Volume{guid}` without the
  // trailing backslash, or a device path of MSFT_Disk. If the answer exceeds `max_output` bytes,
  // the driver chooses: an error such as ERROR_MORE_DATA, or the beginning of the answer.
  virtual absl::StatusOr<Bytes> Control(const std::string& device, DeviceAccess access,
                                        uint32_t code, const Bytes& input, size_t max_output) = 0;
  // Reads `size` bytes of `device` from `offset` with one ReadFile; fewer if the device ends
  // before. REQUIRES: `offset` and `size` are multiples of the device's sector size.
  virtual absl::StatusOr<Bytes> Read(const std::string& device, uint64_t offset, size_t size) = 0;

  // Returns a number that changes when a disk or volume arrives or leaves, and perhaps at other
  // times. Constant if Windows does not report changes (CM_Register_Notification).
  virtual uint64_t DeviceChanges() = 0;
  // Waits until DeviceChanges() is not `seen`, at most `limit`.
  virtual void AwaitDeviceChange(uint64_t seen, absl::Duration limit) = 0;

  // Services (service control manager). ERROR_SERVICE_DOES_NOT_EXIST for an unknown service.

  virtual absl::StatusOr<ServiceInfo> GetService(const std::string& name) = 0;
  // Returns all active dependents in the order to stop them (EnumDependentServicesW).
  virtual absl::StatusOr<std::vector<std::string>> ListActiveDependents(
      const std::string& name) = 0;
  // Asks a service to start, without waiting for it (StartServiceW).
  virtual absl::Status StartService(const std::string& name) = 0;
  // Asks a service to stop, without waiting for it (ControlService with SERVICE_CONTROL_STOP).
  virtual absl::Status StopService(const std::string& name) = 0;

  // Network.

  // Returns the node's names and addresses (GetComputerNameExW, GetAdaptersAddresses).
  virtual absl::StatusOr<NetworkNames> GetNetworkNames() = 0;

  // Firmware.

  // Returns RawSMBIOSData (GetSystemFirmwareTable of provider RSMB).
  virtual absl::StatusOr<Bytes> GetSmbiosTable() = 0;
};

// Returns the Os of this machine. Enables the process's privileges to back up, restore, create
// links and manage volumes, if held, and turns off dialogs for missing media.
std::unique_ptr<Os> NewOs();

}  // namespace csi_proxy::machine
