#include "server/host/find_volume.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/host/storage_namespace.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

using cim::Namespace;
using cim::Value;

// The time and the interval of queries to WMI for a volume that the mount manager has.
constexpr absl::Duration kCachePatience = absl::Seconds(10);
constexpr absl::Duration kCachePoll = absl::Milliseconds(200);

constexpr const char* kVolumeHealth[] = {"Healthy", "Scan needed", "Spot fix needed",
                                         "Full repair needed"};

// Makes WMI read a disk's partitions and volumes again. Returns an error only if the call has
// ended, because the caller queries WMI afterwards in any case.
absl::Status RefreshDisk(cim::Session& wmi, const CallContext& context, uint32_t disk_number) {
  const auto disk = FindMsftDisk(wmi, context, disk_number);
  if (disk.ok() && disk->has_value()) {
    (void)wmi.Invoke(context, Namespace::kStorage, (*disk)->path(), "Refresh");
  }
  return context.Check();
}

}  // namespace

absl::Status NoVolume(const VolumeId& volume) {
  return absl::NotFoundError(absl::StrCat("there is no volume ", volume.ToString()));
}

absl::Status VolumeError(const VolumeId& volume, absl::string_view what,
                         const absl::Status& status) {
  if (IsFileNotFound(status)) return NoVolume(volume);
  // learn.microsoft.com/windows-server/administration/windows-commands/manage-bde-unlock
  if (HasWin32Code(status, win32_error::kBitLockerLocked)) {
    return Reworded(status, absl::StatusCode::kFailedPrecondition,
                    absl::StrCat(what, " volume ", volume.ToString(),
                                 ": it is locked by BitLocker; `manage-bde -unlock` on the node "
                                 "unlocks it"));
  }
  return Prefixed(absl::StrCat(what, " volume ", volume.ToString()), status);
}

absl::StatusOr<machine::DiskExtent> ExtentOf(const VolumeView& volume) {
  if (volume.extents.size() == 1) return volume.extents.front();
  return absl::FailedPreconditionError(absl::StrCat(
      "volume ", volume.id.ToString(), " spans several disks or partitions of a dynamic disk"));
}

absl::StatusOr<cim::Object> FindVolume(cim::Session& wmi, machine::Os& os,
                                       const CallContext& context, const VolumeId& volume) {
  const cim::Query query =
      cim::Query("MSFT_Volume").Where("UniqueId", Value::String(volume.ToString()));
  const CallContext waiting = context.WithTimeout(kCachePatience);
  for (int refreshed = 0;; ++refreshed) {
    ABSL_ASSIGN_OR_RETURN(auto found, wmi.Query(context, Namespace::kStorage, query));
    ABSL_RETURN_IF_ERROR(CheckOne(absl::StrCat("volume ", volume.ToString()), found.size()));
    if (!found.empty()) return std::move(found.front());
    const auto extents = GetVolumeExtents(os, volume.ToString());
    if (!extents.ok()) return VolumeError(volume, "locating", extents.status());
    // WMI should have shown the volume after the first refresh.
    if (refreshed == 1) RecordFallback(Fallback::kVolumeUnknownToWmi);
    if (refreshed > 0 && !waiting.SleepFor(kCachePoll).ok()) {
      const absl::Status over = context.Check();
      return over.ok() ? absl::UnavailableError("WMI does not show the volume yet") : over;
    }
    if (refreshed == 0) {
      ABSL_RETURN_IF_ERROR(CheckNotDynamic(os, volume.ToString(), extents->front().disk_number));
    }
    ABSL_RETURN_IF_ERROR(RefreshDisk(wmi, context, extents->front().disk_number));
  }
}

std::string VolumeHealthName(const cim::Object& volume) {
  return NameOf(volume, "HealthStatus", kVolumeHealth);
}

}  // namespace csi_proxy::host
