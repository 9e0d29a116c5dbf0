// Formats volumes through WMI.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/host/find_volume.h"
#include "server/host/volume_host.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

using cim::Value;

// Returns DetachedRuns' name of a volume's file system.
std::string FileSystemName(const VolumeId& volume) {
  return absl::StrCat("the file system of volume ", volume.ToString());
}

// Returns, as one text, a volume's file system and the folders at which the volume is mounted.
// Omits drive letters, because Windows assigns them without a request.
absl::StatusOr<std::string> UseOf(machine::Os& os, const VolumeId& volume) {
  const auto file_system = os.GetFileSystem(volume.ToString());
  if (!file_system.ok() && !HasWin32Code(file_system.status(), win32_error::kUnrecognizedVolume)) {
    return VolumeError(volume, "reading", file_system.status());
  }
  const auto paths = os.ListMountPoints(volume.ToString());
  if (!paths.ok()) return VolumeError(volume, "asking for the folders of", paths.status());
  std::string use = file_system.ok() && file_system->name != "RAW" ? file_system->name : "";
  for (const std::string& path : *paths) {
    if (!MountPoint{path}.is_drive()) absl::StrAppend(&use, "\n", path);
  }
  return use;
}

absl::Status ChangedMeanwhile(const VolumeId& volume) {
  return absl::UnavailableError(absl::StrCat(
      "volume ", volume.ToString(), " has been formatted or mounted meanwhile: repeat the call"));
}

}  // namespace

absl::Status VolumeHost::AwaitFormat(const CallContext& context, const VolumeId& volume) {
  return deps_.changes->Await(context, FileSystemName(volume));
}

absl::Status VolumeHost::Format(const CallContext& context, const VolumeId& volume,
                                const FormatOptions& options) {
  const std::string operation = absl::StrCat("formatting volume ", volume.ToString());
  // Windows' Format may begin long after the handler has looked at the volume, and may be repeated
  // long after the caller has left. So `check` compares the volume's use before each Format.
  const absl::StatusOr<std::string> before = UseOf(os_, volume);
  if (!before.ok()) return Prefixed(operation, before.status());
  if (options.replaces.has_value() && *before != *options.replaces &&
      !absl::StartsWith(*before, absl::StrCat(*options.replaces, "\n"))) {
    return ChangedMeanwhile(volume);
  }
  const absl::StatusOr<cim::Object> object = FindVolume(wmi_, os_, context, volume);
  if (!object.ok()) return Prefixed(operation, object.status());
  cim::Arguments arguments = {{"FileSystem", Value::String(options.file_system)},
                              {"FileSystemLabel", Value::String(options.label)},
                              {"Full", Value::Boolean(false)},
                              {"Force", Value::Boolean(true)}};
  if (options.allocation_unit_bytes != 0) {
    arguments["AllocationUnitSize"] = Value::Uint32(options.allocation_unit_bytes);
  }
  const auto check = [&os = os_, volume, before = *before]() -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const std::string now, UseOf(os, volume));
    if (now == before) return absl::OkStatus();
    return ChangedMeanwhile(volume);
  };
  return deps_.changes->Run(
      context, {FileSystemName(volume)},
      [&storage = storage_, path = object->path(), arguments, operation,
       check](const CallContext& run) -> absl::Status {
        ABSL_RETURN_IF_ERROR(check());
        return storage.Call(run, operation, path, "Format", arguments, check);
      },
      absl::InfiniteDuration());
}

}  // namespace csi_proxy::host
