// Growing a volume, for the calls of several groups. Callers hold the volume's lock.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/host/volume_host.h"

namespace csi_proxy::volume {

// Grows a volume of `current` bytes to `asked`, or as far as possible when that is 0. Growth below
// 100 MiB, which drivers ask for at every mount, is done if it can be, and never fails.
absl::Status Grow(host::VolumeHost& host, const CallContext& context, const VolumeId& volume,
                  uint64_t current, uint64_t asked);

}  // namespace csi_proxy::volume
