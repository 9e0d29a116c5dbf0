#include "server/groups/storage/storage_service.h"

#include "server/groups/storage/mounts.h"
#include "server/groups/storage/stage.h"

namespace csi_proxy::storage {
namespace {

class StorageService final : public Service {
 public:
  explicit StorageService(const groups::Deps& deps) : deps_(deps) {}

  absl::StatusOr<ListDisksResponse> ListDisks(const CallContext&,
                                              const ListDisksRequest&) override {
    return absl::UnimplementedError("not yet");
  }

  absl::StatusOr<SetDiskReadOnlyResponse> SetDiskReadOnly(const CallContext&,
                                                          const SetDiskReadOnlyRequest&) override {
    return absl::UnimplementedError("not yet");
  }

  absl::StatusOr<FormatVolumeResponse> FormatVolume(const CallContext&,
                                                    const FormatVolumeRequest&) override {
    return absl::UnimplementedError("not yet");
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

  absl::StatusOr<GetVolumeHealthResponse> GetVolumeHealth(const CallContext&,
                                                          const GetVolumeHealthRequest&) override {
    return absl::UnimplementedError("not yet");
  }

  absl::StatusOr<StageVolumeResponse> StageVolume(const CallContext& context,
                                                  const StageVolumeRequest& request) override {
    return Stage(deps_, context, request);
  }

  absl::StatusOr<UnstageVolumeResponse> UnstageVolume(
      const CallContext& context, const UnstageVolumeRequest& request) override {
    return Unstage(deps_, context, request);
  }

 private:
  const groups::Deps deps_;
};

}  // namespace

std::unique_ptr<Service> NewStorageService(const groups::Deps& deps) {
  return std::make_unique<StorageService>(deps);
}

}  // namespace csi_proxy::storage
