#include "server/simulator/failure.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "server/names/win32_error.h"

namespace csi_proxy::machine::simulator {
namespace {

// A code of the Storage Management API, with its text.
struct KnownText {
  uint32_t code;
  const char* text;
};

constexpr KnownText kStorageTexts[] = {
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
    {kStorageClusterBelowSector,
     "The specified cluster size is not a multiple of the drive's physical sector size."},
    {kStorageFileSystemNotSupported, "The specified file system is not supported."},
};

}  // namespace

WindowsError KnownError(uint32_t code) {
  if (const absl::string_view words = Win32Words(code); !words.empty()) {
    return {code, absl::StrCat(words, ".")};
  }
  for (const KnownText& known : kStorageTexts) {
    if (known.code == code) return {code, known.text};
  }
  return {code, "An unexpected error occurred."};
}

absl::Status Failure(absl::string_view operation, const WindowsError& error,
                     absl::StatusCode code) {
  return Reworded(
      Win32Status(error.code, ""), code,
      absl::StrCat(operation, " failed: ", error.text, " (error 0x", absl::Hex(error.code), ")"));
}

absl::Status Failure(absl::string_view operation, uint32_t error, absl::StatusCode code) {
  return Failure(operation, KnownError(error), code);
}

}  // namespace csi_proxy::machine::simulator
