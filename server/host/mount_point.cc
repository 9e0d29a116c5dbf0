#include "server/host/mount_point.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/host/patient_open.h"
#include "server/machine/reparse_point.h"
#include "server/names/refusals.h"
#include "server/names/unicode.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {
namespace {

using machine::Access;
using machine::File;

// Calls `call`, which opens the entry that `*held` keeps open. If `call` fails with a sharing
// violation, closes `*held`, sets it to null and retries.
template <typename Call>
absl::Status CallOnHeld(const CallContext& context, std::unique_ptr<File>* held, Call call) {
  absl::Status status = call();
  if (!HasWin32Code(status, win32_error::kSharingViolation)) return status;
  RecordFallback(Fallback::kMountDirectoryLetGo, status.message());
  held->reset();
  return Patiently(context, call);
}

// Deletes the reparse point of `name` in `directory`, so that a plain directory stays. Given a
// `volume`, does nothing unless that volume is mounted at `name`. Given nullopt, does nothing if a
// volume is mounted at `name`. Does not need the right to delete the entry
// (learn.microsoft.com/openspecs/windows_protocols/ms-fsa/0b7952d6-9588-4c9c-bbb7-4875014a0fac).
absl::Status MakePlain(const CallContext& context, File& directory, const std::string& name,
                       const std::optional<VolumeId>& volume) {
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                        OpenPatiently(context, directory, name, Access::kWriteAttributes));
  ABSL_ASSIGN_OR_RETURN(const std::optional<VolumeId> mounted, VolumeMountedAt(*file));
  if (mounted != volume) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const machine::FileAttributes attributes, file->GetAttributes());
  return file->DeleteReparsePoint(attributes.reparse_tag);
}

// Counts a mount call that Windows refused, perhaps for the `\\?\` of its path. Returns `status`.
absl::Status CountVerbatim(absl::string_view name, absl::Status status) {
  if (absl::StartsWith(name, "\\\\?\\") &&
      HasWin32Code(status, {win32_error::kInvalidParameter, win32_error::kInvalidName,
                            win32_error::kBadPathName, win32_error::kFileNameTooLong})) {
    RecordFallback(Fallback::kVerbatimMountPath, status.message());
  }
  return status;
}

// Asks Windows to end the mount of `volume` at `path`, which `*held` keeps open. See CallOnHeld().
absl::Status DeleteHeldMountPoint(const HostDeps& deps, const CallContext& context,
                                  const VolumeId& volume, absl::string_view path,
                                  std::unique_ptr<File>* held) {
  const std::string name = MountPointName(path);
  absl::Status deleted = CountVerbatim(name, CallOnHeld(TeardownStep(context), held, [&] {
                                         return deps.os->DeleteMountPoint(name);
                                       }));
  if (!deleted.ok()) {
    RecordFallback(IsKnownGone(deps, context, volume).value_or(false) ? Fallback::kMountForgotten
                                                                      : Fallback::kMountNotEnded,
                   deleted.message());
  }
  return deleted;
}

// Ends the mount at `path`, the entry `name` in `directory`. With `or_link`, also ends a directory
// link. An empty directory stays. Returns false if there is nothing to end.
absl::StatusOr<bool> EndMountOrLink(const HostDeps& deps, const CallContext& context,
                                    File& directory, const std::string& name,
                                    const std::string& path, bool or_link) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<File> held,
                        OpenPatiently(context, directory, name, Access::kRead));
  ABSL_ASSIGN_OR_RETURN(const std::optional<VolumeId> volume, VolumeMountedAt(*held));
  if (volume.has_value()) {
    (void)FlushBeforeUnmount(deps, context, *volume, path);
    ABSL_RETURN_IF_ERROR(context.Check());
    if (DeleteHeldMountPoint(deps, context, *volume, path, &held).ok()) return true;
  } else {
    if (!or_link) return false;
    ABSL_ASSIGN_OR_RETURN(const machine::FileAttributes attributes, held->GetAttributes());
    if (!attributes.is_directory || !machine::IsNameSurrogate(attributes)) return false;
  }
  held.reset();
  ABSL_RETURN_IF_ERROR(MakePlain(context, directory, name, volume));
  return true;
}

// Returns the programs that have the entry at `path` open: `a.exe (pid 1), b.exe (pid 2)`.
absl::StatusOr<std::string> UsersOf(machine::Os& os, const std::string& path) {
  constexpr size_t kNamed = 4;
  const size_t root = absl::StartsWith(path, "\\\\?\\") ? path.find('\\', 4) + 1 : 3;
  std::vector<std::string> names = absl::StrSplit(path.substr(root), '\\');
  const std::string name = std::move(names.back());
  names.pop_back();
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<File> directory, os.OpenRoot(path.substr(0, root)));
  if (!names.empty()) {
    ABSL_ASSIGN_OR_RETURN(directory, directory->OpenBelow(names, Access::kPeek));
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<machine::FileUser> users, directory->ListUsers(name));
  const size_t others = users.size() - std::min(users.size(), kNamed);
  users.resize(users.size() - others);
  const auto add = [](std::string* text, const machine::FileUser& user) {
    absl::StrAppend(text, user.image_name.empty() ? "a program" : user.image_name, " (pid ",
                    user.process_id, ")");
  };
  return absl::StrCat(absl::StrJoin(users, ", ", add),
                      others > 0 ? absl::StrCat(" and ", others, " more") : "");
}

// Returns the path of the entry where `path` ends, or "" if there is none. Runs on another thread,
// because the drive of `path` may never answer. Takes at most a second.
absl::StatusOr<std::string> PlaceOf(const HostDeps& deps, const CallContext& context,
                                    const ConfinedPath& path, bool follow_last) {
  constexpr absl::Duration kLongest = absl::Seconds(1);
  return deps.reads->Read<std::string>(
      TeardownStep(context).WithTimeout(kLongest),
      absl::StrCat("the place of ", path.path.ToString()),
      [os = deps.os, path, follow_last](const CallContext& run) -> absl::StatusOr<std::string> {
        ABSL_ASSIGN_OR_RETURN(
            const ResolvedPath there,
            ResolvePath(*os, run, path, {.follow_last = follow_last, .access = Access::kPeek}));
        return there.found() ? there.Path() : "";
      });
}

}  // namespace

CallContext TeardownStep(const CallContext& context) {
  constexpr absl::Duration kLongest = absl::Seconds(30);
  constexpr absl::Duration kToEnd = absl::Seconds(5);
  return context.WithTimeout(kLongest + kToEnd).Leaving(2, kToEnd);
}

bool IsVolumeGone(machine::Os& os, const VolumeId& volume) {
  const absl::Status asked = os.GetFileSystem(volume.ToString()).status();
  // The errors of a device that was just removed.
  constexpr uint32_t kGoing[] = {win32_error::kNotReady, win32_error::kDeviceNotExist,
                                 win32_error::kNoSuchDevice, win32_error::kDeviceNotConnected};
  return IsFileNotFound(asked) ||
         std::any_of(std::begin(kGoing), std::end(kGoing),
                     [&](uint32_t code) { return HasWin32Code(asked, code); });
}

absl::StatusOr<bool> IsKnownGone(const HostDeps& deps, const CallContext& context,
                                 const VolumeId& volume) {
  constexpr absl::Duration kPatience = absl::Milliseconds(300);
  return deps.reads->Read<bool>(
      context.WithTimeout(kPatience), absl::StrCat("the state of volume ", volume.ToString()),
      [os = deps.os, volume](const CallContext&) { return IsVolumeGone(*os, volume); });
}

std::string MountPointName(absl::string_view directory) {
  // Includes the NUL at the end
  // (learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation).
  constexpr int64_t kMaxPath = 260;
  std::string name = absl::StrCat(absl::StripSuffix(directory, "\\"), "\\");
  if (absl::StartsWith(name, "\\\\?\\")) return name;
  const bool is_plain = WindowsPath::Parse("directory", name).ok() && Utf16Length(name) < kMaxPath;
  return is_plain ? name : absl::StrCat("\\\\?\\", name);
}

absl::StatusOr<std::optional<VolumeId>> VolumeMountedAt(File& file) {
  ABSL_ASSIGN_OR_RETURN(const machine::FileAttributes attributes, file.GetAttributes());
  if (!attributes.is_reparse_point || attributes.reparse_tag != machine::kReparseTagMountPoint) {
    return std::nullopt;
  }
  ABSL_ASSIGN_OR_RETURN(const machine::Bytes data, file.ReadReparsePoint());
  absl::StatusOr<machine::ReparsePoint> point = machine::ParseReparsePoint(data);
  // A malformed junction is not a volume's mount point.
  if (!point.ok()) return std::nullopt;
  return point->volume;
}

bool IsMountPointOf(machine::Os& os, const CallContext& context, const WindowsPath& folder,
                    const VolumeId& volume) {
  const absl::StatusOr<ResolvedPath> walked = ResolvePath(
      os, context, {folder, nullptr}, {.access = machine::Access::kPeek, .is_patient = false});
  if (!walked.ok()) return true;
  if (walked->found() && walked->link.has_value() && walked->link->volume == volume) return true;
  RecordFallback(Fallback::kStaleMountFolder);
  return false;
}

bool IsBelowReally(machine::Os& os, const CallContext& context, const PathRoots& roots,
                   const WindowsPath& folder) {
  if (IsBelow(roots, folder)) return true;
  for (const WindowsPath& root : roots.roots()) {
    const absl::StatusOr<ResolvedPath> walked =
        ResolvePath(os, context, {root, nullptr},
                    {.follow_last = true, .access = machine::Access::kPeek, .is_patient = false});
    if (!walked.ok() || !walked->found()) continue;
    const absl::StatusOr<WindowsPath> real = WindowsPath::Parse("root", walked->Path());
    if (!real.ok() || !IsBelow(PathRoots({*real}), folder)) continue;
    RecordFallback(Fallback::kFolderByAnotherName);
    return true;
  }
  return false;
}

absl::Status SetMountPoint(machine::Os& os, const CallContext& context, const VolumeId& volume,
                           ResolvedPath* at) {
  const std::string name = MountPointName(at->Path());
  const auto set = [&] { return CountVerbatim(name, os.SetMountPoint(name, volume.ToString())); };
  if (at->is_root()) return set();
  ABSL_RETURN_IF_ERROR(CallOnHeld(context, &at->held.back(), set));
  if (at->held.back() != nullptr) return absl::OkStatus();
  at->held.pop_back();
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<File> file,
                        OpenPatiently(context, at->at(), at->names.back(), Access::kRead));
  ABSL_ASSIGN_OR_RETURN(const std::optional<VolumeId> mounted, VolumeMountedAt(*file));
  at->held.push_back(std::move(file));
  if (mounted == volume) return absl::OkStatus();
  return absl::UnavailableError("another program replaced the directory: repeat the call");
}

absl::Status FlushBeforeUnmount(const HostDeps& deps, const CallContext& context,
                                const VolumeId& volume, absl::string_view path) {
  const CallContext step = TeardownStep(context);
  const std::string& name = volume.ToString();
  const absl::Status flushed = Flush(deps, step, name);
  if (flushed.ok() || HasWin32Code(flushed, win32_error::kWriteProtect)) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(context.Check());
  const bool is_silent = !step.Check().ok();
  if (!is_silent && IsKnownGone(deps, context, volume).value_or(false)) {
    return absl::NotFoundError(absl::StrCat("there is no volume ", name));
  }
  const absl::Status failed = absl::InternalError(absl::StrCat(
      "volume ", name,
      " was not flushed: ", is_silent ? "Windows has not finished the flush" : flushed.message()));
  RecordFallback(is_silent || IsDeviceFailure(flushed) ? Fallback::kDiskDoesNotAnswer
                                                       : Fallback::kUnmountedUnflushed,
                 failed.message());
  deps.warn(absl::StrCat(failed.message(), "; its mount at ", path, " is removed nevertheless"));
  return failed;
}

absl::Status CheckNotKubelets(const HostDeps& deps, const CallContext& context,
                              const ConfinedPath& path, const ResolvedPath& at) {
  if (path.roots == nullptr || at.is_root()) return absl::OkStatus();
  const std::string text = path.path.ToString();
  const std::string name = at.names.back();
  const bool is_moved = FoldName(at.Path()) != FoldName(text);
  const auto is_below = [own = absl::StrCat(FoldName(at.Path()), "\\")](absl::string_view place) {
    return absl::StartsWith(absl::StrCat(FoldName(place), "\\"), own);
  };
  const auto leads_below = [&](const WindowsPath& entry, bool follow_last) -> absl::StatusOr<bool> {
    if (is_below(entry.ToString())) return true;
    const bool is_patient = context.deadline() - SteadyTime::Now() > absl::Seconds(3);
    const absl::StatusOr<std::string> place =
        PlaceOf(deps, context, {entry, path.roots}, follow_last);
    if (place.ok()) return is_below(*place);
    ABSL_RETURN_IF_ERROR(context.Check());
    // The drive of `at` answers, so a drive that does not is another one. Any other error, or a
    // deadline that the caller has made too short, proves nothing.
    const bool is_mute = is_patient && absl::IsDeadlineExceeded(place.status());
    if (is_mute || IsDeviceFailure(place.status())) return false;
    return place.status();
  };
  for (const WindowsPath& root : path.roots->roots()) {
    if (IsKubeletsFolder(name) && at.link.has_value()) {
      ABSL_ASSIGN_OR_RETURN(const bool is_kubelets, leads_below(root.Child(name), false));
      if (is_kubelets) {
        return absl::FailedPreconditionError(absl::StrCat(
            text,
            " is a link or mount through which the node finds the volumes of all pods; drain "
            "the node and remove it by hand"));
      }
    }
    // If no link is on the way, ConfinedPath::Parse() has already refused a working directory.
    if (!is_moved) continue;
    ABSL_ASSIGN_OR_RETURN(const bool holds_root, leads_below(root, true));
    if (holds_root) {
      return absl::PermissionDeniedError(
          absl::StrCat(text, " leads to a working directory, or to a folder above one"));
    }
  }
  return absl::OkStatus();
}

absl::Status DeleteMountPoint(const HostDeps& deps, const CallContext& context,
                              const VolumeId& volume, ResolvedPath* at) {
  const absl::Status deleted =
      DeleteHeldMountPoint(deps, context, volume, at->Path(), &at->held.back());
  if (at->held.back() == nullptr) at->held.pop_back();
  // After a failed call the directory may still lead to the volume, for example because the mount
  // manager has forgotten a missing volume.
  if (deleted.ok()) return deleted;
  if (at->held.size() >= at->names.size() + 1) at->held.pop_back();
  const absl::Status made_plain = MakePlain(context, at->at(), at->names.back(), volume);
  if (made_plain.ok()) return made_plain;
  return IsKnownGone(deps, context, volume).value_or(false) ? made_plain : deleted;
}

absl::Status EndMountBeforeDeletion(const HostDeps& deps, const CallContext& context,
                                    File& directory, const std::string& name,
                                    const std::string& path, std::unique_ptr<File>* file) {
  // The opens below do not share deletion, so they would fail while `*file` is open for deletion.
  file->reset();
  // If the mount cannot be ended, the deletion of the entry ends it.
  const bool ended = EndMountOrLink(deps, context, directory, name, path, false).value_or(false);
  ABSL_RETURN_IF_ERROR(context.Check());
  absl::StatusOr<std::unique_ptr<File>> again =
      OpenPatiently(context, directory, name, Access::kDelete);
  if (!again.ok()) {
    const absl::Status kept = NameUsers(deps, context, path, again.status());
    return ended ? Appended(kept, kEmptyStays) : kept;
  }
  *file = *std::move(again);
  return absl::OkStatus();
}

absl::Status LeaveEmpty(const HostDeps& deps, const CallContext& context, File& directory,
                        const std::string& name, const std::string& path,
                        const absl::Status& kept) {
  const absl::StatusOr<bool> ended = EndMountOrLink(deps, context, directory, name, path, true);
  const absl::Status named = NameUsers(deps, context, path, kept);
  return ended.value_or(false) ? Appended(named, kEmptyStays) : named;
}

absl::Status NameUsers(const HostDeps& deps, const CallContext& context, const std::string& path,
                       const absl::Status& error) {
  constexpr absl::Duration kLongest = absl::Seconds(1);
  if (!IsHeldByOthers(error) && !HasWin32Code(error, win32_error::kAccessDenied)) return error;
  const absl::StatusOr<std::string> users = deps.reads->Read<std::string>(
      TeardownStep(context).WithTimeout(kLongest), absl::StrCat("the users of ", path),
      [os = deps.os, path](const CallContext&) { return UsersOf(*os, path); });
  if (!users.ok() || users->empty()) return error;
  return Advise(error, absl::StrCat("open in ", *users,
                                    ": repeat the call, and end that program if the error stays"));
}

}  // namespace csi_proxy::host
