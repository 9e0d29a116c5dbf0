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
  // Why the volume did not grow as far as requested, in words. Empty if it did. May be empty if
  // less than 100 MiB are missing.
  std::string obstacle;
};

// Grows a volume to `asked` bytes, or as far as possible if `asked` is 0. Then calls
// VolumeHost::ExtendFileSystem(). Returns FAILED_PRECONDITION if the disk has too little room. At
// every mount drivers request growth by less than 100 MiB, so a failure of such growth is not an
// error. If `asked` is 0, a file system that Windows cannot resize stays unchanged.
absl::StatusOr<Growth> Grow(host::VolumeHost& host, const CallContext& context,
                            host::VolumeView volume, uint64_t asked);

}  // namespace csi_proxy::volume
