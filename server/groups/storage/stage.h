// A disk's volume made usable at a directory, and taken back: one call each, which can be repeated
// after any crash.
#pragma once

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/storage/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::storage {

// They implement StageVolume and UnstageVolume of the hub.
absl::StatusOr<StageVolumeResponse> Stage(const groups::Deps& deps, const CallContext& context,
                                          const StageVolumeRequest& request);
absl::StatusOr<UnstageVolumeResponse> Unstage(const groups::Deps& deps, const CallContext& context,
                                              const UnstageVolumeRequest& request);

}  // namespace csi_proxy::storage
