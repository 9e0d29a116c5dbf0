// Formats volumes for all groups.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/groups/handler_deps.h"
#include "server/host/volume_host.h"
#include "server/names/volume_id.h"

namespace csi_proxy::groups {

// Parses the format of a request. `file_system` is case-insensitive; empty means NTFS. If
// `allocation_unit_bytes` is 0, Windows chooses. Returns INVALID_ARGUMENT, naming the field, for an
// invalid value.
absl::StatusOr<host::FormatOptions> ReadFormat(absl::string_view file_system,
                                               uint32_t allocation_unit_bytes,
                                               absl::string_view label = "");

// Returns FAILED_PRECONDITION for a volume that was in use before (SignOfUse() of volume_host.h).
// The error contains the sign of use, and advice on how to save the data. REQUIRES: Windows
// recognises no file system on the volume; the mounts of `volume` were read under its lock.
absl::Status CheckNeverUsed(const HandlerDeps& deps, const CallContext& context,
                            const host::VolumeView& volume);
// Returns the error of CheckNeverUsed() if it fails. Returns FAILED_PRECONDITION, with similar
// advice, unless the volume reads as zero at the places of `look`. Returns UNAVAILABLE if the
// volume has moved during the reads. A new volume reads as zero, so a call that is repeated after a
// crash recognises a new volume without a record.
absl::Status CheckBlank(const HandlerDeps& deps, const CallContext& context,
                        const host::VolumeView& volume, host::Look look);
// Returns FAILED_PRECONDITION, with advice on how to save the data, unless the disk reads as zero
// at the places of Look::kThroughout. REQUIRES: the disk is online.
absl::Status CheckBlank(const HandlerDeps& deps, const CallContext& context,
                        const host::DiskDescription& disk);

// Formats a volume, unless it has another file system now than in `volume`. Logs the start and the
// end to deps.log, and registers the format as Running (running_calls.h). REQUIRES: the caller
// holds the volume's lock.
absl::Status Format(const HandlerDeps& deps, const CallContext& context,
                    const host::VolumeView& volume, host::FormatOptions options);

// The volumes whose content a format may erase.
enum class Erase {
  // Volumes without a file system or other data.
  kNothing,
  // Volumes that are not mounted at a folder.
  kUnmounted,
  // Also volumes that are mounted only at folders of drivers outside the kubelet's directories,
  // because sig-storage-local-static-provisioner erases a mounted volume with FormatVolume.
  kStatic,
};

// Formats a volume under its lock. Returns FAILED_PRECONDITION if the volume's disk is Windows' own
// or, unless `erase` is kStatic, in use by the node (windows_use.h).
//
// Reads the volume again under the lock, because drivers format a volume that an earlier call
// reported as unformatted. If another call has formatted it since this call began, returns OK if
// the file system is the requested one and `options` has neither an allocation unit nor a label,
// and otherwise FAILED_PRECONDITION.
//
// Also returns FAILED_PRECONDITION if `erase` or HandlerDeps::keep_foreign_data protects the
// content, or if the volume has lost its file system. Only kUnmounted without
// HandlerDeps::keep_foreign_data ignores such a loss. Only the log names the folder of a mount,
// because the folder may be another tenant's.
absl::Status LockAndFormat(const HandlerDeps& deps, const CallContext& context,
                           const VolumeId& volume, const host::FormatOptions& options, Erase erase);

}  // namespace csi_proxy::groups
