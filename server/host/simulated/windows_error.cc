#include "server/host/simulated/windows_error.h"

#include "absl/strings/str_cat.h"

namespace csi_proxy::host::simulated {
namespace {

struct KnownText {
  uint32_t code;
  const char* text;
};

constexpr KnownText kKnownTexts[] = {
    {kErrorAccessDenied, "Access is denied."},
    {kErrorInvalidDrive, "The system cannot find the drive specified."},
    {kErrorWriteProtect, "The media is write protected."},
    {kErrorNotReady, "The device is not ready."},
    {kErrorBadNetpath, "The network path was not found."},
    {kErrorDiskFull, "There is not enough space on the disk."},
    {kErrorFileNameTooLong, "The filename or extension is too long."},
    {kErrorServiceDisabled, "The service cannot be started because it is disabled."},
    {kErrorServiceDependencyFailed, "The dependency service or group failed to start."},
    {kErrorCantResolveName, "The name of the file cannot be resolved by the system."},
    {kStorageSizeNotSupported, "The specified size is not supported."},
    {kStorageNotInitialized, "The disk has not been initialized."},
    {kStorageAlreadyInitialized, "The disk has already been initialized."},
    {kStorageDiskReadOnly, "The disk is read only."},
    {kStorageDiskOffline, "The disk is offline."},
    {kStoragePartitionLimit, "The disk's partition limit has been reached."},
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
  return absl::Status(code, absl::StrCat(operation, " failed: ", error.text, " (error 0x",
                                         absl::Hex(error.code), ")"));
}

absl::Status Failure(absl::string_view operation, uint32_t error, absl::StatusCode code) {
  return Failure(operation, KnownError(error), code);
}

}  // namespace csi_proxy::host::simulated
