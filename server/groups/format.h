// Formats volumes, whichever group the call comes by.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/base/volume_id.h"
#include "server/groups/deps.h"
#include "server/host/volume_host.h"

namespace csi_proxy::groups {

// Reads the format that a request asks for. `file_system` is in any case, NTFS when empty; for an
// allocation unit of 0 Windows chooses. INVALID_ARGUMENT naming `file_system`,
// `allocation_unit_bytes` or `label`.
absl::StatusOr<host::FormatOptions> ReadFormat(absl::string_view file_system,
                                               uint32_t allocation_unit_bytes,
                                               absl::string_view label = "");

// FAILED_PRECONDITION, with the way to get the data back and the way to wipe it, unless the volume
// reads as zero where file systems, volume managers and encryption write. A volume that was just
// partitioned does, so no other mark is needed to recognise it after a crash.
absl::Status CheckBlank(const Deps& deps, const CallContext& context, const VolumeId& volume);
// Checks a whole disk, which is online, likewise.
absl::Status CheckBlank(const Deps& deps, const CallContext& context, uint32_t disk_number);

// Formats a volume and reports the format to the node's watch. REQUIRES: the caller holds the
// volume's lock.
absl::Status Format(const Deps& deps, const CallContext& context, const VolumeId& volume,
                    const host::FormatOptions& options);

// The volumes whose content a format may erase.
enum class Erase {
  // None that has a file system or other data.
  kNothing,
  // Those that no folder mounts.
  kUnmounted,
  // Also those mounted at folders below a working directory that are not the kubelet's:
  // sig-storage-local-static-provisioner deletes a volume by FormatVolume and keeps it mounted.
  kStatic,
};

// Locks a volume and formats it. Drivers format what an earlier call reported as not formatted, so
// this looks again under the lock. Returns OK without formatting if another call formatted the
// volume as requested while this call waited for the lock; FAILED_PRECONDITION if that call chose
// another format, or if the volume has content that `erase` does not cover (only the log names the
// folder of a mount, because it may be another tenant's); the error of `check`, which runs first
// under the lock.
absl::Status LockAndFormat(const Deps& deps, const CallContext& context, const VolumeId& volume,
                           const host::FormatOptions& options, Erase erase,
                           absl::FunctionRef<absl::Status()> check);

}  // namespace csi_proxy::groups
