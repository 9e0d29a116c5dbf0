// Grows a volume, for several groups. REQUIRES: the caller holds the volume's lock.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/host/volume_host.h"

namespace csi_proxy::volume {

struct Growth {
  bool grew = false;
  // The reason why the volume does not reach the end of its disk, in words; empty if it does or
  // need not.
  std::string obstacle;
};

// Grows a volume to `asked` bytes, or as far as possible if that is 0. Extends a file system that
// is smaller than its partition. Growth below 100 MiB, which drivers request at every mount, is
// tried but never fails. With `asked` 0, a file system that Windows cannot resize stays as it is.
absl::StatusOr<Growth> Grow(host::VolumeHost& host, const CallContext& context,
                            const VolumeId& volume, uint64_t asked);

}  // namespace csi_proxy::volume
