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

// Formats a volume and reports the format to the node's watch. Returns FAILED_PRECONDITION if the
// volume is mounted at a folder, which goes to the log alone because it may be another tenant's.
// REQUIRES: the caller holds the volume's lock.
absl::Status Format(const Deps& deps, const CallContext& context, const VolumeId& volume,
                    const host::FormatOptions& options);

// Locks a volume and formats it. A driver formats what an earlier call reported as not formatted,
// so this looks again under the lock. Returns OK without formatting if another call formatted the
// volume as requested while this call waited for the lock; FAILED_PRECONDITION if that call chose
// another format, if the volume is mounted, or if it has a file system and `overwrite` is false;
// the error of `check`, which runs first under the lock.
absl::Status LockAndFormat(const Deps& deps, const CallContext& context, const VolumeId& volume,
                           const host::FormatOptions& options, bool overwrite,
                           absl::FunctionRef<absl::Status()> check);

}  // namespace csi_proxy::groups
