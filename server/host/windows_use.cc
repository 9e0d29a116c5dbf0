#include "server/host/windows_use.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/host/find_volume.h"
#include "server/host/storage_namespace.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

absl::Status MountedAt(uint32_t disk_number, absl::string_view folder) {
  return absl::FailedPreconditionError(
      absl::StrCat("a volume of disk ", disk_number, " is mounted at ", folder));
}

}  // namespace

bool IsOrMayBe(const cim::Object& object, absl::string_view flag) {
  return object.GetBoolean(flag).value_or(object.Has(flag));
}

absl::Status CheckNotWindows(uint32_t disk_number, bool is_boot, bool is_system) {
  if (!is_boot && !is_system) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("Windows ", is_boot ? "runs on" : "boots from", " disk ", disk_number));
}

absl::Status CheckNotWindows(uint32_t disk_number, const cim::Object& disk) {
  return CheckNotWindows(disk_number, IsOrMayBe(disk, "IsBoot"), IsOrMayBe(disk, "IsSystem"));
}

absl::Status CheckNotWindows(cim::Session& wmi, machine::Os& os, const CallContext& context,
                             const VolumeId& volume) {
  const auto extents = GetVolumeExtents(os, volume.ToString());
  if (!extents.ok()) return VolumeError(volume, "locating", extents.status());
  const uint32_t number = extents->front().disk_number;
  ABSL_ASSIGN_OR_RETURN(const auto disk, FindMsftDisk(wmi, context, number));
  return disk.has_value() ? CheckNotWindows(number, *disk) : NoDisk(number);
}

absl::Status CheckNotMounted(Host& host, const CallContext& context, const PathRoots* roots,
                             uint32_t number) {
  ABSL_ASSIGN_OR_RETURN(const auto volumes, host.volume().ListVolumes(context, number, 0));
  for (const VolumeId& volume : volumes) {
    const auto points = host.volume().ListMountPoints(context, volume, roots);
    // The volume has disappeared.
    if (absl::IsNotFound(points.status())) continue;
    if (!points.ok()) return points.status();
    for (const MountPoint& point : *points) {
      if (point.is_drivers) continue;
      const absl::string_view path = absl::StripSuffix(point.path, "\\");
      if (!point.is_drive()) return MountedAt(number, path);
      return absl::FailedPreconditionError(absl::StrCat("disk ", number, " holds ", path));
    }
  }
  return context.Check();
}

absl::Status CheckOnlyLetters(Host& host, const CallContext& context, const PathRoots* roots,
                              uint32_t number) {
  ABSL_ASSIGN_OR_RETURN(const auto volumes, host.volume().ListVolumes(context, number, 0));
  for (const VolumeId& volume : volumes) {
    ABSL_ASSIGN_OR_RETURN(const auto points, host.volume().ListMountPoints(context, volume, roots));
    for (const MountPoint& point : points) {
      if (point.is_drivers) continue;
      const std::string path(absl::StripSuffix(point.path, "\\"));
      const auto in_use = [&](absl::string_view use) {
        return absl::FailedPreconditionError(
            absl::StrCat("disk ", number, " holds ", path, ", with ", use));
      };
      if (!point.is_drive()) return MountedAt(number, path);
      for (const WindowsPath& root : roots->roots()) {
        if (absl::StartsWithIgnoreCase(root.ToString(), path)) return in_use("a working directory");
      }
      // Page files lie in the root directory under this name
      // (learn.microsoft.com/windows/win32/cimwin32prov/win32-pagefilesetting).
      ABSL_ASSIGN_OR_RETURN(const WindowsPath page_file,
                            WindowsPath::Parse("page file", absl::StrCat(path, "\\pagefile.sys")));
      ABSL_ASSIGN_OR_RETURN(const bool has_page_file,
                            host.filesystem().Exists(context, {page_file, nullptr}));
      if (has_page_file) return in_use("a page file");
    }
  }
  return context.Check();
}

absl::Status CheckUnused(Host& host, const CallContext& context, const PathRoots* roots,
                         const DiskDescription& disk) {
  const absl::Status own = CheckNotWindows(disk.disk_number, disk.is_boot, disk.is_system);
  return own.ok() ? CheckNotMounted(host, context, roots, disk.disk_number) : own;
}

}  // namespace csi_proxy::host
