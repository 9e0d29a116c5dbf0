// Resolves a path on a real node without a race. Each component is opened in the open directory
// before it, without following links, and stays open, so that no entry can be replaced before the
// caller uses the handle at the end. This code, never Windows, reads and follows reparse points. A
// read-only call first opens the whole path with one system call. The call walks the path only if
// this open fails for another reason than a missing entry.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/machine/os.h"
#include "server/machine/reparse_point.h"
#include "server/names/volume_id.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {

struct ResolveOptions {
  // Follows the last component if it is a link. Never enters a volume mounted there.
  bool follow_last = false;
  // The limit of links and mount points in a path; Windows gives up after 63.
  int max_steps = 63;
  // Fails with FAILED_PRECONDITION if a component below a root, or any if there are no roots, is a
  // link or a mount point. The last component may be one.
  bool refuse_links = false;
  // The access to the last component. kPeek returns a snapshot: entries of the path may change and
  // are not all held. If the path does not exist, `missing` may also contain components that exist.
  machine::Access access = machine::Access::kRead;
  // Retries entries that other programs hold: see patient_open.h.
  bool is_patient = true;
};

// The entry at the end of a path, or the last one that exists.
struct ResolvedPath {
  // The open entries from `root` to the last one that exists. at() returns the last one. kPeek
  // omits some entries.
  std::vector<std::unique_ptr<machine::File>> held;
  // The attributes of the last entry held.
  machine::FileAttributes attributes;
  // Set when the last entry held is a link or mount point that was not followed.
  std::optional<machine::ReparsePoint> link;
  // The root above at(): `C:\` or `\\?\Volume{guid}\`. Empty if no entry is held.
  std::string root;
  // The components from `root` to at(). Links that were followed are replaced by their targets.
  std::vector<std::string> names;
  // The components below at() that do not exist. With kPeek, all but the last may exist.
  std::vector<std::string> missing;
  // True if the first missing component is from a link's target: the link is dangling.
  bool dangling = false;
  // The path on a server, if the last link followed leads to a server. Then no entry is held.
  std::optional<UncPath> server;

  bool found() const { return !held.empty() && missing.empty(); }
  machine::File& at() const { return *held.back(); }
  bool is_root() const { return names.empty(); }
  // Returns true for a directory that is not an unfollowed link or mount point.
  bool is_directory() const { return attributes.is_directory && !link.has_value(); }
  // Returns `root` and `names` as a path. The path names at() only while at() is held.
  std::string Path() const;
};

// Follows `path`. A link at or above a root is the administrator's: it may lead anywhere, and the
// root stays a root. A link below a root must lead into the roots; only the last component may lead
// to a server. A volume mounted below a root belongs to the tree, with three exceptions: the volume
// contains a root itself, Windows' mount manager does not list the mount, or the mount is in a
// directory that a pod can write to: IsPodsDirectory(), or any directory of a mount that is not the
// kubelet's own `plugins` or `pods`. PERMISSION_DENIED, naming the link, if a link or mount point
// breaks one of these rules. FAILED_PRECONDITION if the path has too many links. An error names the
// path and its first link, but not another tenant's paths behind that link.
absl::StatusOr<ResolvedPath> ResolvePath(machine::Os& os, const CallContext& context,
                                         const ConfinedPath& path,
                                         const ResolveOptions& options = {});

// Returns true if ResolvePath() failed because the path has too many links, for example a circle of
// links.
bool HasTooManyLinks(const absl::Status& error);

// Returns the volume that contains the last entry of a walk.
absl::StatusOr<VolumeId> VolumeOf(machine::Os& os, const ResolvedPath& walked);

// Returns true if `path` is strictly below a root. There callers may put links and mount points.
bool IsBelow(const PathRoots& roots, const WindowsPath& path);

// Returns the components of `path` below its root; below the outermost root if there are several.
// The root's last name comes first if it is an IsKubeletsFolder(). Otherwise IsPodsDirectory()
// would not recognise a pod's folder. Returns none for a path that is not in the roots.
std::vector<std::string> NamesBelow(const PathRoots& roots, const WindowsPath& path);

// Returns NOT_FOUND, naming the path.
absl::Status MissingError(const WindowsPath& path);

}  // namespace csi_proxy::host
