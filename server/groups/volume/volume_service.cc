#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/groups/fields.h"
#include "server/groups/format.h"
#include "server/groups/locks.h"
#include "server/groups/node_services.h"
#include "server/groups/volume/grow.h"
#include "server/host/mount_point.h"
#include "server/names/win32_error.h"

namespace csi_proxy::volume {
namespace {

class VolumeService final : public Service {
 public:
  explicit VolumeService(const groups::HandlerDeps& deps) : deps_(deps) {}

  absl::StatusOr<ListVolumesOnDiskResponse> ListVolumesOnDisk(
      const CallContext& context, const ListVolumesOnDiskRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto volumes, host().ListVolumes(context, request.disk_number,
                                                                 request.partition_number));
    ListVolumesOnDiskResponse response;
    for (const VolumeId& volume : volumes) response.volume_ids.push_back(volume.ToString());
    return response;
  }

  absl::StatusOr<MountVolumeResponse> MountVolume(const CallContext& context,
                                                  const MountVolumeRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
    ABSL_ASSIGN_OR_RETURN(const auto target,
                          ConfinedPath::Parse(deps_.roots, "target_path", request.target_path,
                                              Place::kBelowRoots, Spelling::kLenient));
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, volume));
    // Waits for an Offline call whose caller has left, because it could still take the disk offline
    // under the mount.
    const auto disk = host().GetDiskNumber(context, volume);
    if (disk.ok()) {
      ABSL_RETURN_IF_ERROR(deps_.host->disk().AwaitChanges(context, *disk));
    }
    ABSL_RETURN_IF_ERROR(host().Mount(context, volume, target));
    return MountVolumeResponse{};
  }

  absl::StatusOr<UnmountVolumeResponse> UnmountVolume(
      const CallContext& context, const UnmountVolumeRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
    ABSL_ASSIGN_OR_RETURN(const auto target,
                          ConfinedPath::Parse(deps_.roots, "target_path", request.target_path,
                                              Place::kBelowRoots, Spelling::kLenient));
    // Unmounts even if the lock is not free in time, because the call that holds it may wait for
    // Windows.
    const auto lock = Lock(host::TeardownStep(context), volume);
    ABSL_RETURN_IF_ERROR(context.Check());
    // Ignores a failed flush, because a remaining mount would keep the cloud from detaching the
    // disk.
    (void)host().FlushBeforeUnmount(context, volume, target);
    ABSL_RETURN_IF_ERROR(host().Unmount(context, volume, target));
    return UnmountVolumeResponse{};
  }

  absl::StatusOr<IsVolumeFormattedResponse> IsVolumeFormatted(
      const CallContext& context, const IsVolumeFormattedRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
    ABSL_ASSIGN_OR_RETURN(const auto file_system, host().GetFileSystem(context, volume));
    return IsVolumeFormattedResponse{.formatted = !file_system.name.empty()};
  }

  absl::StatusOr<FormatVolumeResponse> FormatVolume(const CallContext& context,
                                                    const FormatVolumeRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
    ABSL_ASSIGN_OR_RETURN(const auto options,
                          groups::ReadFormat(request.file_system, request.allocation_unit_bytes));
    ABSL_RETURN_IF_ERROR(
        groups::LockAndFormat(deps_, context, volume, options, groups::Erase::kStatic));
    return FormatVolumeResponse{};
  }

  absl::StatusOr<ResizeVolumeResponse> ResizeVolume(const CallContext& context,
                                                    const ResizeVolumeRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
    if (request.size_bytes < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("size_bytes: ", request.size_bytes, " is negative"));
    }
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, volume));
    ABSL_ASSIGN_OR_RETURN(auto view, host().Locate(context, volume));
    ABSL_RETURN_IF_ERROR(
        deps_.host->disk().AwaitChanges(context, view.extents.front().disk_number));
    ABSL_RETURN_IF_ERROR(
        Grow(host(), context, std::move(view), static_cast<uint64_t>(request.size_bytes)).status());
    return ResizeVolumeResponse{};
  }

  absl::StatusOr<GetVolumeStatsResponse> GetVolumeStats(
      const CallContext& context, const GetVolumeStatsRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
    ABSL_ASSIGN_OR_RETURN(const auto stats, host().GetStats(context, volume));
    const auto total = groups::SignedBytes("total_bytes", stats.total_bytes);
    const auto used = groups::SignedBytes("used_bytes", stats.used_bytes);
    if (!total.ok()) return total.status();
    if (!used.ok()) return used.status();
    return GetVolumeStatsResponse{.total_bytes = *total, .used_bytes = *used};
  }

  absl::StatusOr<GetDiskNumberFromVolumeIDResponse> GetDiskNumberFromVolumeID(
      const CallContext& context, const GetDiskNumberFromVolumeIDRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
    const auto number = host().GetDiskNumber(context, volume);
    // The error ends with the words of NotMounted(). Otherwise a driver that passes the id of a
    // mounted folder on a removed disk would fail and could never unstage.
    if (absl::IsNotFound(number.status())) {
      return absl::NotFoundError(absl::StrCat("volume_id: cannot find the disk of volume ",
                                              volume.ToString(), " because it does not exist"));
    }
    if (!number.ok()) return number.status();
    return GetDiskNumberFromVolumeIDResponse{.disk_number = *number};
  }

  absl::StatusOr<GetVolumeIDFromTargetPathResponse> GetVolumeIDFromTargetPath(
      const CallContext& context, const GetVolumeIDFromTargetPathRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto path,
                          ConfinedPath::Parse(deps_.roots, "target_path", request.target_path,
                                              Place::kWithinRoots, Spelling::kLenient));
    const auto volume = host().GetVolumeAtMountPoint(context, path);
    if (absl::IsNotFound(volume.status())) return NotMounted(path.path, volume.status());
    if (!volume.ok()) return volume.status();
    return GetVolumeIDFromTargetPathResponse{.volume_id = volume->ToString()};
  }

  absl::StatusOr<GetClosestVolumeIDFromTargetPathResponse> GetClosestVolumeIDFromTargetPath(
      const CallContext& context, const GetClosestVolumeIDFromTargetPathRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto path,
                          ConfinedPath::Parse(deps_.roots, "target_path", request.target_path,
                                              Place::kWithinRoots, Spelling::kLenient));
    ABSL_ASSIGN_OR_RETURN(const auto volume, host().GetVolumeHolding(context, path));
    return GetClosestVolumeIDFromTargetPathResponse{.volume_id = volume.ToString()};
  }

  absl::StatusOr<WriteVolumeCacheResponse> WriteVolumeCache(
      const CallContext& context, const WriteVolumeCacheRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, volume));
    ABSL_RETURN_IF_ERROR(host().Flush(context, volume));
    return WriteVolumeCacheResponse{};
  }

 private:
  host::VolumeHost& host() { return deps_.host->volume(); }

  absl::StatusOr<ResourceLocks::Lock> Lock(const CallContext& context, const VolumeId& volume) {
    return groups::LockVolume(*deps_.locks, context, volume);
  }

  // Returns the error for a path without a mount. Drivers read the words up to "exist" as "not
  // mounted", and fail without these words. Drivers also accept the words if the path does exist;
  // then `why` follows.
  static absl::Status NotMounted(const WindowsPath& path, const absl::Status& why) {
    const absl::Status error =
        absl::NotFoundError(absl::StrCat("target_path: cannot find a volume mounted at \"",
                                         path.ToString(), "\" because it does not exist"));
    const bool is_there = !absl::StrContains(why.message(), "does not exist");
    return is_there ? Appended(error, absl::StrCat("the path exists, but ", why.message())) : error;
  }

  const groups::HandlerDeps deps_;
};

}  // namespace

std::unique_ptr<Service> NewVolumeService(const groups::HandlerDeps& deps) {
  return std::make_unique<VolumeService>(deps);
}

}  // namespace csi_proxy::volume
