// Disks and volumes as a whole: implements the hub's ListDisks, SetDiskReadOnly, FormatVolume and
// GetVolumeHealth.
#pragma once

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/storage/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::storage {

absl::StatusOr<ListDisksResponse> Disks(const groups::Deps& deps, const CallContext& context);
absl::StatusOr<SetDiskReadOnlyResponse> SetReadOnly(const groups::Deps& deps,
                                                    const CallContext& context,
                                                    const SetDiskReadOnlyRequest& request);
absl::StatusOr<FormatVolumeResponse> Format(const groups::Deps& deps, const CallContext& context,
                                            const FormatVolumeRequest& request);
absl::StatusOr<GetVolumeHealthResponse> Health(const groups::Deps& deps, const CallContext& context,
                                               const GetVolumeHealthRequest& request);

}  // namespace csi_proxy::storage
