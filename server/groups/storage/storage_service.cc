#include "server/groups/node_services.h"
#include "server/groups/storage/calls.h"

namespace csi_proxy::storage {
namespace {

class StorageService final : public Service {
 public:
  explicit StorageService(const groups::Deps& deps) : deps_(deps) {}

  absl::StatusOr<ListDisksResponse> ListDisks(const CallContext& context,
                                              const ListDisksRequest&) override {
    return storage::ListDisks(deps_, context);
  }

  absl::StatusOr<SetDiskReadOnlyResponse> SetDiskReadOnly(
      const CallContext& context, const SetDiskReadOnlyRequest& request) override {
    return storage::SetDiskReadOnly(deps_, context, request);
  }

  absl::StatusOr<FormatVolumeResponse> FormatVolume(const CallContext& context,
                                                    const FormatVolumeRequest& request) override {
    return storage::FormatVolume(deps_, context, request);
  }

  absl::StatusOr<GetPathStatsResponse> GetPathStats(const CallContext& context,
                                                    const GetPathStatsRequest& request) override {
    return storage::GetPathStats(deps_, context, request);
  }

  absl::StatusOr<ListMountsResponse> ListMounts(const CallContext& context,
                                                const ListMountsRequest& request) override {
    return storage::ListMounts(deps_, context, request);
  }

  absl::StatusOr<ListSmbMappingsResponse> ListSmbMappings(const CallContext& context,
                                                          const ListSmbMappingsRequest&) override {
    return storage::ListSmbMappings(deps_, context);
  }

  absl::StatusOr<GetVolumeHealthResponse> GetVolumeHealth(
      const CallContext& context, const GetVolumeHealthRequest& request) override {
    return storage::GetVolumeHealth(deps_, context, request);
  }

  absl::StatusOr<StageVolumeResponse> StageVolume(const CallContext& context,
                                                  const StageVolumeRequest& request) override {
    return storage::StageVolume(deps_, context, request);
  }

  absl::StatusOr<UnstageVolumeResponse> UnstageVolume(
      const CallContext& context, const UnstageVolumeRequest& request) override {
    return storage::UnstageVolume(deps_, context, request);
  }

  absl::StatusOr<StageShareResponse> StageShare(const CallContext& context,
                                                const StageShareRequest& request) override {
    return storage::StageShare(deps_, context, request);
  }

  absl::StatusOr<UnstageShareResponse> UnstageShare(const CallContext& context,
                                                    const UnstageShareRequest& request) override {
    return storage::UnstageShare(deps_, context, request);
  }

  absl::StatusOr<StageTargetResponse> StageTarget(const CallContext& context,
                                                  const StageTargetRequest& request) override {
    return storage::StageTarget(deps_, context, request);
  }

  absl::StatusOr<UnstageTargetResponse> UnstageTarget(
      const CallContext& context, const UnstageTargetRequest& request) override {
    return storage::UnstageTarget(deps_, context, request);
  }

 private:
  const groups::Deps deps_;
};

}  // namespace

std::unique_ptr<Service> NewStorageService(const groups::Deps& deps) {
  return std::make_unique<StorageService>(deps);
}

}  // namespace csi_proxy::storage
