// Sets and deletes a volume's mount point. Windows does both by path and opens the directory
// itself. The sharing mode of that open is not documented (doubt 8 of doubts.md), so this process's
// open handle may make the call fail. Only then is the handle closed and the call repeated. The
// handles of the directories above stay open, so that the path cannot change. After a repeated
// SetMountPoint() the entry is checked again.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/host/host_deps.h"
#include "server/host/resolve_path.h"
#include "server/machine/os.h"
#include "server/names/volume_id.h"

namespace csi_proxy::host {

// Mounts `volume` at the empty directory where `at` ends. UNAVAILABLE if another program has
// replaced the directory during the call.
absl::Status SetMountPoint(machine::Os& os, const CallContext& context, const VolumeId& volume,
                           ResolvedPath* at);

// Returns the context for a step of a teardown, for example a flush, before the teardown ends a
// mount, link or session. The step's deadline is at most 30 s away. It leaves 5 s, or half of the
// remaining time if that is less, to end the mount, link or session. A step that is not finished by
// its deadline has failed.
CallContext TeardownStep(const CallContext& context);

// Flushes a volume before its mount at `path` ends, as a TeardownStep(). Remembers the volume as
// used, because after the unmount the mount manager no longer names the folder. OK for a
// write-protected volume, because it has no pending writes. NOT_FOUND if the volume does not exist.
// Logs, counts and returns any other failure, unless `context` has ended. The caller must unmount
// nevertheless, because a remaining mount keeps a cloud from detaching a broken disk.
absl::Status FlushBeforeUnmount(const HostDeps& deps, const CallContext& context,
                                const VolumeId& volume, absl::string_view path);

// Returns FAILED_PRECONDITION if `at` ends at the link or mount `plugins` or `pods` of a root. Such
// a link or mount moves the kubelet's data to another disk, and without it all pods would lose
// their volumes. Returns PERMISSION_DENIED if a link or mount leads `path` to a root or above a
// root. Compares resolved paths, because a link below a root may lead to any of these entries. If
// the disk of a root is broken or mute for a second, compares only the root's name, because the
// disk of another root must not stop a teardown. Both errors name only `path`. REQUIRES: `at` is
// the end of `path`, and exists.
absl::Status CheckNotKubelets(const HostDeps& deps, const CallContext& context,
                              const ConfinedPath& path, const ResolvedPath& at);

// Removes the mount of `volume` at the directory where `at` ends; the directory stays, and the
// volume may be missing. If the mount manager refuses, deletes the directory's reparse point
// directly. REQUIRES: FlushBeforeUnmount() was called, unless the volume is missing.
absl::Status DeleteMountPoint(const HostDeps& deps, const CallContext& context,
                              const VolumeId& volume, ResolvedPath* at);

// Returns true if a volume is missing: its disk was removed or is offline. May never return if the
// disk does not answer.
bool IsVolumeGone(machine::Os& os, const VolumeId& volume);
// Does the work of IsVolumeGone(), but returns an error if Windows does not answer within 300 ms.
absl::StatusOr<bool> IsKnownGone(const HostDeps& deps, const CallContext& context,
                                 const VolumeId& volume);

// Returns the name of a directory, `C:\a` or `\\?\Volume{guid}\a`, with the trailing backslash that
// the mount-point calls require
// (learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumemountpointw). Adds `\\?\` to a
// drive's path only if the path is too long or if Windows would parse it differently without
// `\\?\`. The calls may not accept `\\?\C:\a\` (doubt 22 of doubts.md).
std::string MountPointName(absl::string_view directory);

// Returns the volume mounted at an open entry, or nullopt if the entry is not a mount point.
absl::StatusOr<std::optional<VolumeId>> VolumeMountedAt(machine::File& file);

// Flushes the volume mounted at `path`, the entry `name` in `directory`, and ends the mount,
// because deleting only the entry would leave the path in the mount manager's table. Ignores a
// failure of the flush and of the end of the mount, for example if the volume is missing. Closes
// `file`, the entry open for deletion, and opens the entry again; `file` may be another entry then.
// If another program prevents the second open, the error says whether the mount has ended.
absl::Status EndMountBeforeDeletion(const HostDeps& deps, const CallContext& context,
                                    machine::File& directory, const std::string& name,
                                    const std::string& path, std::unique_ptr<machine::File>* file);

// The text that is added to the error of a deletion if a mount or link has ended, but its entry
// stays.
inline constexpr char kEmptyStays[] =
    "nothing is mounted or linked there any more; an empty folder stays";

// Turns an entry that cannot be deleted, `name` of `directory`, into an empty directory if it is a
// mount point or a directory link. First flushes the volume of a mount point. Returns `kept`, the
// error of the deletion, with the names of NameUsers(), and with kEmptyStays if a mount or link has
// ended. REQUIRES: the caller does not hold a handle that may delete the entry.
absl::Status LeaveEmpty(const HostDeps& deps, const CallContext& context, machine::File& directory,
                        const std::string& name, const std::string& path, const absl::Status& kept);

// Returns `error`, the failure to open or delete the entry at `path`. If other programs have the
// entry open, adds their file names and process ids. Takes at most a second. REQUIRES: in `path`
// only the last component may be a link or mount point.
absl::Status NameUsers(const HostDeps& deps, const CallContext& context, const std::string& path,
                       const absl::Status& error);

// The words in an error for a folder that should be empty and has files.
inline constexpr char kFilesStay[] =
    "if a volume or share was mounted there, its pod may have written these files since the mount "
    "ended: move the folder aside, stage again and compare; delete nothing";

// Returns true if a folder in the mount manager's table still leads to `volume` or cannot be
// checked. A mount that ended while its volume was missing stays in that table, as drive letters do
// (learn.microsoft.com/windows/win32/api/vds/nf-vds-ivdsservice-cleanupobsoletemountpoints).
bool IsMountPointOf(machine::Os& os, const CallContext& context, const WindowsPath& folder,
                    const VolumeId& volume);

// Returns true if a folder is strictly below a root. Follows links at or above the root, because
// the mount manager may name the root by its target.
bool IsBelowReally(machine::Os& os, const CallContext& context, const PathRoots& roots,
                   const WindowsPath& folder);

}  // namespace csi_proxy::host
