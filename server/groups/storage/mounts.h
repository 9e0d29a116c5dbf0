// Lists the mounts and links below the working directories, and measures their space.
#pragma once

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/storage/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::storage {

// They implement the methods of these names in the hub. They take no locks.
absl::StatusOr<GetPathStatsResponse> PathStats(const groups::Deps& deps, const CallContext& context,
                                               const GetPathStatsRequest& request);
absl::StatusOr<ListMountsResponse> Mounts(const groups::Deps& deps, const CallContext& context,
                                          const ListMountsRequest& request);
absl::StatusOr<ListSmbMappingsResponse> SmbMappings(const groups::Deps& deps,
                                                    const CallContext& context);

}  // namespace csi_proxy::storage
