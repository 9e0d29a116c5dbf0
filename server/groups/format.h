// Formats volumes, whichever group the call comes by.
#pragma once

#include <cstdint>
#include <string>

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

// Formats a volume, and has the node's watch report it. The caller holds the volume's lock.
absl::Status Format(const Deps& deps, const CallContext& context, const VolumeId& volume,
                    const host::FormatOptions& options);

}  // namespace csi_proxy::groups
