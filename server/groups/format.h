// Formats volumes for all groups.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/groups/deps.h"
#include "server/host/volume_host.h"
#include "server/names/volume_id.h"

namespace csi_proxy::groups {

// Parses the format of a request. `file_system` is case-insensitive, NTFS if empty; 0 lets Windows
// choose the allocation unit. Returns INVALID_ARGUMENT, naming the field, for an invalid one.
absl::StatusOr<host::FormatOptions> ReadFormat(absl::string_view file_system,
                                               uint32_t allocation_unit_bytes,
                                               absl::string_view label = "");

// Returns FAILED_PRECONDITION for a volume that was in use before (SignOfUse() of volume_host.h).
// The error names the data and the way to save it. REQUIRES: Windows recognises no file system on
// the volume; the mounts of `volume` were read under its lock.
absl::Status CheckNeverUsed(const Deps& deps, const CallContext& context,
                            const host::VolumeView& volume);
// Returns the error of CheckNeverUsed(), or FAILED_PRECONDITION with the same advice unless the
// volume reads as zero at the places of `look`. A freshly partitioned volume reads as zero, so a
// call after a crash recognises it without another mark.
absl::Status CheckBlank(const Deps& deps, const CallContext& context,
                        const host::VolumeView& volume, host::Look look);
// Returns FAILED_PRECONDITION, with the same advice, unless the whole disk reads as zero at the
// places of Look::kThroughout. REQUIRES: the disk is online.
absl::Status CheckBlank(const Deps& deps, const CallContext& context, uint32_t disk_number);

// Formats a volume. Logs the start and the end to deps.log, and registers the format as Running
// (running_calls.h). REQUIRES: the caller holds the volume's lock.
absl::Status Format(const Deps& deps, const CallContext& context, const VolumeId& volume,
                    const host::FormatOptions& options);

// The volumes whose content a format may erase.
enum class Erase {
  // Volumes without a file system or other data.
  kNothing,
  // Volumes that are not mounted at a folder.
  kUnmounted,
  // Also volumes mounted only at folders below a working directory that are not the kubelet's,
  // because sig-storage-local-static-provisioner erases a mounted volume with FormatVolume.
  kStatic,
};

// Formats a volume under its lock. FAILED_PRECONDITION for a volume of a disk of Windows and,
// unless `erase` is kStatic, of a disk in use by the node (windows_use.h).
//
// Reads the volume again under the lock, because drivers format a volume that an earlier call
// reported as unformatted. Returns OK if another call has formatted it as requested.
// FAILED_PRECONDITION if it has another format, has content that `erase` does not cover, or has
// lost a file system. Only the log names the folder of a mount, because it may be another tenant's.
absl::Status LockAndFormat(const Deps& deps, const CallContext& context, const VolumeId& volume,
                           const host::FormatOptions& options, Erase erase);

}  // namespace csi_proxy::groups
