#include "server/machine/simulated/windows_error.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "server/base/win32_error.h"

namespace csi_proxy::machine::simulated {
namespace {

struct KnownText {
  uint32_t code;
  const char* text;
};

constexpr KnownText kKnownTexts[] = {
    {win32_error::kInvalidFunction, "Incorrect function."},
    {win32_error::kFileNotFound, "The system cannot find the file specified."},
    {win32_error::kPathNotFound, "The system cannot find the path specified."},
    {kErrorAccessDenied, "Access is denied."},
    {kErrorInvalidDrive, "The system cannot find the drive specified."},
    {kErrorWriteProtect, "The media is write protected."},
    {kErrorNotReady, "The device is not ready."},
    {kErrorGeneralFailure, "A device attached to the system is not functioning."},
    {win32_error::kSharingViolation,
     "The process cannot access the file because it is being used by another process."},
    {win32_error::kNotSupported, "The request is not supported."},
    {kErrorBadNetpath, "The network path was not found."},
    {win32_error::kBadNetName, "The network name cannot be found."},
    {win32_error::kInvalidParameter, "The parameter is incorrect."},
    {kErrorDiskFull, "There is not enough space on the disk."},
    {win32_error::kInvalidName,
     "The filename, directory name, or volume label syntax is incorrect."},
    {win32_error::kDirNotEmpty, "The directory is not empty."},
    {kErrorBadPathname, "The specified path is invalid."},
    {win32_error::kAlreadyExists, "Cannot create a file when that file already exists."},
    {kErrorFileNameTooLong, "The filename or extension is too long."},
    {win32_error::kMoreData, "More data is available."},
    {win32_error::kDirectory, "The directory name is invalid."},
    {win32_error::kUnrecognizedVolume, "The volume does not contain a recognized file system."},
    {win32_error::kDependentServicesRunning,
     "A stop control has been sent to a service that other running services are dependent on."},
    {win32_error::kServiceAlreadyRunning, "An instance of the service is already running."},
    {kErrorServiceDisabled, "The service cannot be started because it is disabled."},
    {win32_error::kServiceDoesNotExist,
     "The specified service does not exist as an installed service."},
    {win32_error::kServiceCannotAcceptControl,
     "The service cannot accept control messages at this time."},
    {win32_error::kServiceNotActive, "The service has not been started."},
    {kErrorServiceDependencyFailed, "The dependency service or group failed to start."},
    {win32_error::kLogonFailure, "The user name or password is incorrect."},
    {kErrorCantResolveName, "The name of the file cannot be resolved by the system."},
    {win32_error::kNotAReparsePoint, "The file or directory is not a reparse point."},
    {kErrorInvalidReparseData, "The data present in the reparse point buffer is invalid."},
    {kErrorReparseTagMismatch,
     "There is a mismatch between the tag specified in the request and the tag present in the "
     "reparse point."},
    {kStorageSizeNotSupported, "The specified size is not supported."},
    {kStorageNotInitialized, "The disk has not been initialized."},
    {kStorageAlreadyInitialized, "The disk has already been initialized."},
    {kStorageDiskReadOnly, "The disk is read only."},
    {kStorageDiskOffline, "The disk is offline."},
    {kStoragePartitionLimit, "The disk's partition limit has been reached."},
    {kStorageCriticalDisk, "The operation is not supported on a critical disk."},
    {kStorageDiskTooSmall, "The disk is not large enough to support a GPT disk layout."},
    {kStorageUnknownFileSystem, "The partition's file system cannot be resized."},
    {kStorageSystemPartition, "The operation is not allowed on a system or critical partition."},
    {kStorageBadClusterSize, "The cluster size specified is invalid."},
    {kStorageFileSystemNotSupported, "The specified file system is not supported."},
};

}  // namespace

WindowsError KnownError(uint32_t code) {
  for (const KnownText& known : kKnownTexts) {
    if (known.code == code) return {code, known.text};
  }
  return {code, "An unexpected error occurred."};
}

absl::Status Failure(absl::string_view operation, const WindowsError& error,
                     absl::StatusCode code) {
  absl::Status status(code, absl::StrCat(operation, " failed: ", error.text, " (error 0x",
                                         absl::Hex(error.code), ")"));
  Win32Status(error.code, "").ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    status.SetPayload(url, payload);
  });
  return status;
}

absl::Status Failure(absl::string_view operation, uint32_t error, absl::StatusCode code) {
  return Failure(operation, KnownError(error), code);
}

}  // namespace csi_proxy::machine::simulated
