#include "server/host/windows_use.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
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

absl::Status CheckNotWindows(const DiskDescription& disk) {
  if (!disk.has_windows()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("Windows ", disk.is_boot ? "runs on" : "boots from", " disk ", disk.number));
}

absl::Status CheckNotMounted(uint32_t disk_number, const std::vector<VolumeView>& volumes) {
  for (const VolumeView& volume : volumes) {
    for (const MountPoint& point : volume.mounts) {
      if (point.is_drivers) continue;
      const absl::string_view path = absl::StripSuffix(point.path, "\\");
      if (!point.is_drive()) return MountedAt(disk_number, path);
      return absl::FailedPreconditionError(absl::StrCat(
          "disk ", disk_number, " has a volume with drive letter ", path, ", so the node uses it"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOnlyLetters(Host& host, const CallContext& context, const PathRoots* roots,
                              uint32_t disk_number, const std::vector<VolumeView>& volumes) {
  for (const VolumeView& volume : volumes) {
    for (const MountPoint& point : volume.mounts) {
      if (point.is_drivers) continue;
      const std::string path(absl::StripSuffix(point.path, "\\"));
      const auto in_use = [&](absl::string_view use) {
        return absl::FailedPreconditionError(absl::StrCat(
            "disk ", disk_number, " has a volume with drive letter ", path, ", with ", use));
      };
      if (!point.is_drive()) return MountedAt(disk_number, path);
      for (const WindowsPath& root : roots->roots()) {
        if (absl::StartsWithIgnoreCase(root.ToString(), path)) return in_use("a working directory");
      }
      // Page files are in the root directory under this name
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
                         const DiskDescription& disk, NodeVolumes* seen) {
  ABSL_RETURN_IF_ERROR(CheckNotWindows(disk));
  ABSL_ASSIGN_OR_RETURN(const auto volumes,
                        host.volume().LookAtDisk(context, disk.number, roots, seen));
  return CheckNotMounted(disk.number, volumes);
}

}  // namespace csi_proxy::host
