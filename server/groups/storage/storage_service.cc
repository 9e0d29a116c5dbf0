#include "server/groups/handlers.h"
#include "server/groups/storage/calls.h"

namespace csi_proxy::storage {
namespace {

class StorageService final : public Service {
 public:
  explicit StorageService(const groups::Deps& deps) : deps_(deps) {}

  absl::StatusOr<ListDisksResponse> ListDisks(const CallContext& context,
                                              const ListDisksRequest&) override {
    return Disks(deps_, context);
  }

  absl::StatusOr<SetDiskReadOnlyResponse> SetDiskReadOnly(
      const CallContext& context, const SetDiskReadOnlyRequest& request) override {
    return SetReadOnly(deps_, context, request);
  }

  absl::StatusOr<FormatVolumeResponse> FormatVolume(const CallContext& context,
                                                    const FormatVolumeRequest& request) override {
    return Format(deps_, context, request);
  }

  absl::StatusOr<GetPathStatsResponse> GetPathStats(const CallContext& context,
                                                    const GetPathStatsRequest& request) override {
    return PathStats(deps_, context, request);
  }

  absl::StatusOr<ListMountsResponse> ListMounts(const CallContext& context,
                                                const ListMountsRequest& request) override {
    return Mounts(deps_, context, request);
  }

  absl::StatusOr<ListSmbMappingsResponse> ListSmbMappings(const CallContext& context,
                                                          const ListSmbMappingsRequest&) override {
    return SmbMappings(deps_, context);
  }

  absl::StatusOr<GetVolumeHealthResponse> GetVolumeHealth(
      const CallContext& context, const GetVolumeHealthRequest& request) override {
    return Health(deps_, context, request);
  }

  absl::StatusOr<StageVolumeResponse> StageVolume(const CallContext& context,
                                                  const StageVolumeRequest& request) override {
    return Stage(deps_, context, request);
  }

  absl::StatusOr<UnstageVolumeResponse> UnstageVolume(
      const CallContext& context, const UnstageVolumeRequest& request) override {
    return Unstage(deps_, context, request);
  }

  absl::StatusOr<StageShareResponse> StageShare(const CallContext& context,
                                                const StageShareRequest& request) override {
    return Stage(deps_, context, request);
  }

  absl::StatusOr<UnstageShareResponse> UnstageShare(const CallContext& context,
                                                    const UnstageShareRequest& request) override {
    return Unstage(deps_, context, request);
  }

  absl::StatusOr<StageTargetResponse> StageTarget(const CallContext& context,
                                                  const StageTargetRequest& request) override {
    return StageLun(deps_, context, request);
  }

  absl::StatusOr<UnstageTargetResponse> UnstageTarget(
      const CallContext& context, const UnstageTargetRequest& request) override {
    return UnstageLun(deps_, context, request);
  }

 private:
  const groups::Deps deps_;
};

}  // namespace

std::unique_ptr<Service> NewStorageService(const groups::Deps& deps) {
  return std::make_unique<StorageService>(deps);
}

}  // namespace csi_proxy::storage
