#include "server/groups/format.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "csi_proxy/steady_time.h"
#include "server/base/running_calls.h"
#include "server/base/status_macros.h"
#include "server/groups/fields.h"
#include "server/groups/locks.h"
#include "server/host/windows_use.h"
#include "server/names/unicode.h"
#include "server/names/win32_error.h"

namespace csi_proxy::groups {
namespace {

// The file systems that a format may make, and their allocation units in bytes
// (learn.microsoft.com/windows-server/storage/file-server/ntfs-overview,
// learn.microsoft.com/windows-server/storage/refs/refs-overview).
struct FileSystem {
  const char* name;
  uint32_t min_unit;
  uint32_t max_unit;
  // True if all powers of two between `min_unit` and `max_unit` are also units.
  bool all_between;
};
constexpr FileSystem kFileSystems[] = {{"NTFS", 512, 2097152, true}, {"ReFS", 4096, 65536, false}};

// The maximum length of a label:
// learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumelabelw. One UTF-16 unit needs
// up to 3 bytes of UTF-8.
constexpr int64_t kMaxLabelUnits = 32;
constexpr size_t kMaxLabelBytes = 3 * kMaxLabelUnits;

// Returns true if the kubelet chose the folder of a mount: it stages volumes below `plugins` and
// publishes them below `pods` of its own directory.
bool IsKubelets(const host::MountPoint& point) {
  const std::vector<absl::string_view> names = absl::StrSplit(point.path, '\\');
  return absl::c_any_of(names, IsKubeletsFolder);
}

// Returns FAILED_PRECONDITION if the volume is mounted at a folder, because drivers format a volume
// before they mount it. With Erase::kStatic, ignores a driver's folder that is not in the kubelet's
// directories. Ignores drive letters, because Windows assigns them to new volumes.
absl::Status CheckNotMounted(const HandlerDeps& deps, const host::VolumeView& volume, Erase erase) {
  for (const host::MountPoint& point : volume.mounts) {
    if (point.is_drive()) continue;
    if (erase == Erase::kStatic && point.is_drivers && !IsKubelets(point)) continue;
    if (deps.log != nullptr) {
      deps.log(absl::StrCat("volume ", volume.id.ToString(),
                            " was not formatted: it is mounted at ", point.path));
    }
    return absl::FailedPreconditionError(
        absl::StrCat("volume_id: volume ", volume.id.ToString(),
                     " is mounted at a folder and keeps its content; `mountvol` on the node shows "
                     "the folder"));
  }
  return absl::OkStatus();
}

// Returns a disk's number and id, because Windows may give the number to another disk.
std::string NameDisk(const HandlerDeps& deps, const CallContext& context, uint32_t disk_number) {
  const host::DiskDescription disk = deps.host->disk()
                                         .Describe(context, disk_number, host::AskDisks::kIds)
                                         .value_or(host::DiskDescription());
  return absl::StrCat("disk ", disk_number,
                      !disk.page83.empty() ? absl::StrCat(" (page 83 ", disk.page83, ")")
                      : !disk.serial_number.empty()
                          ? absl::StrCat(" (serial number ", disk.serial_number, ")")
                          : "");
}

// Returns the error for data that must not be formatted. `found` names the disk and the data.
absl::Status HoldsData(absl::string_view found) {
  return absl::FailedPreconditionError(
      absl::StrCat(found,
                   ", and is not formatted. It may belong to another system, often Linux: do not "
                   "format or wipe it, ask the owner of the data, and take a snapshot first"));
}

// Returns the error for data of a volume that must not be formatted. Adds advice for a file system
// of Windows, because it may be damaged or not decrypted yet. `found` is the fault.
absl::Status HoldsData(const HandlerDeps& deps, const CallContext& context,
                       const host::VolumeView& volume, absl::string_view found) {
  return Appended(
      HoldsData(absl::StrCat("volume ", volume.id.ToString(), " of ",
                             NameDisk(deps, context, volume.extents.front().disk_number), " ",
                             found)),
      "if it is a file system of Windows, see the System log of the node, then take the disk "
      "offline and online again");
}

}  // namespace

absl::Status CheckNeverUsed(const HandlerDeps& deps, const CallContext& context,
                            const host::VolumeView& volume) {
  const std::string sign = deps.host->volume().SignOfUse(volume);
  if (sign.empty()) return absl::OkStatus();
  return HoldsData(deps, context, volume, absl::StrCat("has lost its file system (", sign, ")"));
}

absl::Status CheckBlank(const HandlerDeps& deps, const CallContext& context,
                        const host::VolumeView& volume, host::Look look) {
  ABSL_RETURN_IF_ERROR(CheckNeverUsed(deps, context, volume));
  ABSL_ASSIGN_OR_RETURN(const auto data, deps.host->volume().FindData(context, volume, look));
  if (!data.empty()) return HoldsData(deps, context, volume, absl::StrCat("holds ", data));
  // FindData() may have read another volume's bytes if the disk has got another number.
  ABSL_ASSIGN_OR_RETURN(const auto now, deps.host->volume().Locate(context, volume.id));
  if (now.extents == volume.extents) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("volume ", volume.id.ToString(),
                                             " has moved to another place: repeat the call"));
}

absl::Status CheckBlank(const HandlerDeps& deps, const CallContext& context,
                        const host::DiskDescription& disk) {
  ABSL_ASSIGN_OR_RETURN(const auto data, deps.host->disk().FindData(context, disk));
  if (data.empty()) return absl::OkStatus();
  return HoldsData(absl::StrCat(NameDisk(deps, context, disk.number), " holds ", data));
}

absl::StatusOr<host::FormatOptions> ReadFormat(absl::string_view file_system,
                                               uint32_t allocation_unit_bytes,
                                               absl::string_view label) {
  const absl::string_view asked = file_system.empty() ? "NTFS" : file_system;
  const uint32_t unit = allocation_unit_bytes;
  for (const FileSystem& known : kFileSystems) {
    if (!absl::EqualsIgnoreCase(asked, known.name)) continue;
    const bool between = known.all_between && unit > known.min_unit && unit < known.max_unit &&
                         (unit & (unit - 1)) == 0;
    if (unit != 0 && unit != known.min_unit && unit != known.max_unit && !between) {
      return absl::InvalidArgumentError(absl::StrCat("allocation_unit_bytes: ", unit,
                                                     " is not an allocation unit of ", known.name));
    }
    ABSL_RETURN_IF_ERROR(CheckText("label", label, kMaxLabelBytes, true));
    if (Utf16Length(label) < 0) return absl::InvalidArgumentError("label: is not UTF-8");
    if (Utf16Length(label) > kMaxLabelUnits) {
      return absl::InvalidArgumentError(
          absl::StrCat("label: is longer than ", kMaxLabelUnits, " UTF-16 units"));
    }
    host::FormatOptions options;
    options.file_system = known.name;
    options.allocation_unit_bytes = unit;
    options.label = std::string(label);
    return options;
  }
  return absl::InvalidArgumentError("file_system: is neither NTFS nor ReFS");
}

absl::Status Format(const HandlerDeps& deps, const CallContext& context,
                    const host::VolumeView& volume, host::FormatOptions options) {
  options.replaces = volume.file_system.name;
  const std::string what =
      absl::StrCat("formatting volume ", volume.id.ToString(), " with ", options.file_system);
  const auto log = [&](const auto&... text) {
    if (deps.log != nullptr) deps.log(absl::StrCat(what, text...));
  };
  const SteadyTime begin = SteadyTime::Now();
  log(": started");
  const absl::Status status = [&] {
    const Running running(RunKind::kFormat, what);
    return deps.host->volume().Format(context, volume.id, options);
  }();
  const std::string duration =
      absl::FormatDuration(absl::Trunc(SteadyTime::Now() - begin, absl::Milliseconds(1)));
  if (status.ok()) {
    log(": done after ", duration);
  } else if (absl::IsDeadlineExceeded(status) || absl::IsCancelled(status)) {
    // The caller has left, but Windows' format goes on.
    log(": abandoned after ", duration, ", Windows may still be formatting: ", status.message());
  } else {
    log(": failed after ", duration, ": ", status.message());
  }
  return status;
}

absl::Status LockAndFormat(const HandlerDeps& deps, const CallContext& context,
                           const VolumeId& volume, const host::FormatOptions& options,
                           Erase erase) {
  host::VolumeHost& volumes = deps.host->volume();
  ABSL_ASSIGN_OR_RETURN(const auto before, volumes.GetFileSystem(context, volume));
  ABSL_ASSIGN_OR_RETURN(const auto lock, LockVolume(*deps.locks, context, volume));
  ABSL_RETURN_IF_ERROR(volumes.AwaitFormat(context, volume));
  // Reads the volume again under the lock, because another call may have changed it before.
  ABSL_ASSIGN_OR_RETURN(auto view, volumes.Locate(context, volume));
  const uint32_t number = view.extents.front().disk_number;
  // Waits for an Offline call whose caller has left, because it could end the format.
  ABSL_RETURN_IF_ERROR(deps.host->disk().AwaitChanges(context, number));
  ABSL_ASSIGN_OR_RETURN(const auto disk, deps.host->disk().Describe(context, number));
  ABSL_RETURN_IF_ERROR(AboutField("volume_id", host::CheckNotWindows(disk)));
  std::vector<host::VolumeView> all;
  if (erase != Erase::kStatic) {
    ABSL_ASSIGN_OR_RETURN(all, volumes.LookAtDisk(context, number, deps.roots.get()));
    ABSL_RETURN_IF_ERROR(AboutField("volume_id", host::CheckNotMounted(number, all)));
  }
  const auto found = absl::c_find_if(all, [&](const auto& one) { return one.id == volume; });
  if (found != all.end()) {
    view = *found;
  } else {
    ABSL_RETURN_IF_ERROR(volumes.ReadMounts(context, deps.roots.get(), &view));
  }
  ABSL_RETURN_IF_ERROR(CheckNotMounted(deps, view, erase));
  ABSL_ASSIGN_OR_RETURN(view.file_system, volumes.GetFileSystem(context, volume));
  const std::string& now = view.file_system.name;
  if (before.name.empty() && !now.empty()) {
    const bool is_as_asked =
        now == options.file_system && options.allocation_unit_bytes == 0 && options.label.empty();
    if (is_as_asked) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "volume_id: another call has just formatted volume ", volume.ToString(), " with ", now));
  }
  if (!now.empty() && erase == Erase::kNothing) {
    return absl::FailedPreconditionError(absl::StrCat("volume_id: volume ", volume.ToString(),
                                                      " has a file system, ", now,
                                                      ": set overwrite to format it nevertheless"));
  }
  if (now.empty() && (erase == Erase::kNothing || deps.keep_foreign_data)) {
    ABSL_RETURN_IF_ERROR(
        AboutField("volume_id", CheckBlank(deps, context, view, host::Look::kThroughout)));
  } else if (now.empty() && erase == Erase::kStatic) {
    ABSL_RETURN_IF_ERROR(AboutField("volume_id", CheckNeverUsed(deps, context, view)));
  }
  return Format(deps, context, view, options);
}

}  // namespace csi_proxy::groups
