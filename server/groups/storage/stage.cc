#include "server/groups/storage/stage.h"

namespace csi_proxy::storage {

absl::StatusOr<StageVolumeResponse> Stage(const groups::Deps&, const CallContext&,
                                          const StageVolumeRequest&) {
  return absl::UnimplementedError("not yet");
}

absl::StatusOr<UnstageVolumeResponse> Unstage(const groups::Deps&, const CallContext&,
                                              const UnstageVolumeRequest&) {
  return absl::UnimplementedError("not yet");
}

}  // namespace csi_proxy::storage
