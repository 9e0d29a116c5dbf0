// What is mounted and linked below the working directories, and what space it has.
#pragma once

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/storage/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::storage {

// What the methods of these names promise in the hub. They take no locks.
absl::StatusOr<GetPathStatsResponse> PathStats(const groups::Deps& deps, const CallContext& context,
                                               const GetPathStatsRequest& request);
absl::StatusOr<ListMountsResponse> Mounts(const groups::Deps& deps, const CallContext& context,
                                          const ListMountsRequest& request);
absl::StatusOr<ListSmbMappingsResponse> SmbMappings(const groups::Deps& deps,
                                                    const CallContext& context);

}  // namespace csi_proxy::storage
