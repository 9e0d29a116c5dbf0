// Setting and deleting a volume's mount point. Windows does both by path and opens the directory
// itself, which an open handle of ours may prevent: how it opens is not documented (doubt 8 of
// doubts.md). So the handle is closed only after a call that failed because of it. The handles of
// the directories above stay open, so that the path cannot change, and the entry at its end is
// checked again afterwards.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/host/deps.h"
#include "server/host/resolve_path.h"
#include "server/machine/os.h"
#include "server/names/volume_id.h"

namespace csi_proxy::host {

// Mounts `volume` at the empty directory where `at` ends. UNAVAILABLE if another entry has taken
// the directory's place afterwards.
absl::Status SetMountPoint(machine::Os& os, const CallContext& context, const VolumeId& volume,
                           ResolvedPath* at);

// Returns the context of a teardown's step other than the end of the mount, link or session itself.
// Its deadline leaves the caller the shorter of 5 s and half of the remaining time for that end,
// and is at most 30 s away. A step that has not ended by then has failed.
CallContext TeardownStep(const CallContext& context);

// Flushes a volume before its mount at `path` ends, as a TeardownStep(), and remembers it as used,
// because the mount manager then forgets the folder. OK for a write-protected
// volume, which has nothing to flush. NOT_FOUND if the volume is gone. Logs, counts and returns any
// other failure; callers must unmount nevertheless, because a remaining mount keeps a cloud from
// detaching a broken disk.
absl::Status FlushBeforeUnmount(const Deps& deps, const CallContext& context,
                                const VolumeId& volume, absl::string_view path);

// Removes the mount of `volume`, which may be gone, where `at` ends; the directory stays. If the
// mount manager refuses, deletes the directory's reparse point without it.
// REQUIRES: FlushBeforeUnmount() was called, unless the volume is gone.
absl::Status DeleteMountPoint(const Deps& deps, const CallContext& context, const VolumeId& volume,
                              ResolvedPath* at);

// Returns true if a volume is gone: its disk was pulled or is offline.
bool IsVolumeGone(machine::Os& os, const VolumeId& volume);

// Returns the name of a directory, `C:\a` or `\\?\Volume{guid}\a`, with the backslash that the
// mount-point calls require
// (learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumemountpointw). A drive's path
// is returned plain, unless Windows would read the plain path differently or finds it too long;
// then as `\\?\C:\a\`, which the calls may not accept (doubt 22 of doubts.md).
std::string MountPointName(absl::string_view directory);

// Returns the volume mounted at an open entry, or nothing if the entry is not its mount point.
absl::StatusOr<std::optional<VolumeId>> VolumeMountedAt(machine::File& file);

// Flushes and ends the mount at `path`, which is `name` in `directory`, before the entry is
// deleted; a plain deletion would leave the path in the mount manager's table. The volume may be
// gone. Reopens `file`, the entry open for deletion, which may be another entry afterwards. If
// another program prevents that, the error says whether the mount has ended.
absl::Status EndMountBeforeDeletion(const Deps& deps, const CallContext& context,
                                    machine::File& directory, const std::string& name,
                                    const std::string& path, std::unique_ptr<machine::File>* file);

// What the error of a deletion says if a mount or link has ended, but its entry could not be
// deleted.
inline constexpr char kEmptyStays[] =
    "nothing is mounted or linked there any more; an empty folder stays";

// Turns the entry `name` of `directory`, which cannot be deleted, into an empty directory if it is
// a mount point, whose volume is flushed first, or a directory link. Returns `kept`, the error of
// the deletion; appends kEmptyStays if a mount or link has ended. REQUIRES: the caller holds no
// handle that may delete the entry.
absl::Status LeaveEmpty(const Deps& deps, const CallContext& context, machine::File& directory,
                        const std::string& name, const std::string& path, const absl::Status& kept);

// Returns `error`, the failure to open or delete the entry at `path`. If the entry is held, the
// advice names the programs that have it open, by file name and process id. Takes at most a second.
// REQUIRES: no component of `path` but the last is a link or mount point.
absl::Status NameUsers(const Deps& deps, const CallContext& context, const std::string& path,
                       const absl::Status& error);

// What an error says of a folder that should be empty and has files.
inline constexpr char kFilesStay[] =
    "if a volume or share was mounted there, its pod may have written these files since the mount "
    "ended: move the folder aside, stage again and compare; delete nothing";

// Returns true if a folder that the mount manager names for a volume still leads to it or cannot be
// checked. A mount that ended while its volume was away stays in the mount manager's table, as
// letters do
// (learn.microsoft.com/windows/win32/api/vds/nf-vds-ivdsservice-cleanupobsoletemountpoints).
bool IsMountPointOf(machine::Os& os, const CallContext& context, const WindowsPath& folder,
                    const VolumeId& volume);

// Returns true if a folder lies strictly below a root. Follows links at or above the root, because
// the mount manager may name the root by its target.
bool IsBelowReally(machine::Os& os, const CallContext& context, const PathRoots& roots,
                   const WindowsPath& folder);

}  // namespace csi_proxy::host
