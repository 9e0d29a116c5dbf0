// Setting and deleting a volume's mount point. Windows does either by path, and opens the directory
// inside, which a handle of ours may keep it from: how these calls open it is not documented
// (doubt 8 of doubts.md). So the handle is let go when it is in the way, and only then; the
// directories above stay held, so that the path leads there still, and the entry at its end is
// looked at again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/base/volume_id.h"
#include "server/host/resolve_path.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// Mounts `volume` at the empty directory where `at` ends. UNAVAILABLE when something else stands
// there in the end.
absl::Status SetMountPoint(machine::Os& os, const CallContext& context, const VolumeId& volume,
                           ResolvedPath* at);

// Flushes a volume before a mount of it at `path` ends. A write-protected volume has nothing to
// flush. Returns NOT_FOUND for a volume that is gone. Any other failure is logged and counted, and
// is for the caller's answer: the mount is to end all the same, because one that stays keeps a
// cloud from detaching a disk that is broken.
absl::Status FlushBeforeUnmount(machine::Os& os, const CallContext& context,
                                const std::function<void(absl::string_view)>& warn,
                                const VolumeId& volume, absl::string_view path);

// Ends the mount of `volume`, which may be gone, where `at` ends. The directory stays. When the
// mount manager refuses, the directory's reparse point is deleted without it.
absl::Status DeleteMountPoint(machine::Os& os, const CallContext& context, const VolumeId& volume,
                              ResolvedPath* at);

// True if a volume is gone: its disk was pulled or is offline.
bool IsVolumeGone(machine::Os& os, const VolumeId& volume);

// Returns the name of a directory, `C:\a` or `\\?\Volume{guid}\a`, as the mount-point calls want
// it: with a backslash at its end. A drive's path is plain, as everybody gives it, unless Windows
// would read the plain path differently or finds it too long. Whether the calls take `\\?\C:\a\`
// is doubt 22 of doubts.md
// (learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumemountpointw).
std::string MountPointName(absl::string_view directory);

// The volume mounted at an open entry; nothing when the entry is not a mount point of a volume.
absl::StatusOr<std::optional<VolumeId>> VolumeMountedAt(machine::File& file);

// Ends the mount at `path`, which is `name` in `directory`, before the entry is deleted: deleted
// alone, it would leave the path in the mount manager's table. `file` is the entry, open for
// deletion; it is opened anew, and may be something else by then. The volume itself may be gone.
absl::Status EndMountBeforeDeletion(machine::Os& os, const CallContext& context,
                                    machine::File& directory, const std::string& name,
                                    const std::string& path, std::unique_ptr<machine::File>* file);

// True if a folder that the mount manager names for a volume still leads there. A mount that ended
// while its volume was away stays in the mount manager's table, as letters do
// (learn.microsoft.com/windows/win32/api/vds/nf-vds-ivdsservice-cleanupobsoletemountpoints). Also
// true when the folder cannot be checked.
bool LeadsTo(machine::Os& os, const CallContext& context, const std::string& folder,
             const VolumeId& volume);

// True if a folder lies strictly below a root. The mount manager may name the root by the target of
// a link at or above it.
bool IsBelowReally(machine::Os& os, const CallContext& context, const PathRoots& roots,
                   const std::string& folder);

}  // namespace csi_proxy::host
