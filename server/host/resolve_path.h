// Finds without a race where a path leads on a real node: each component is opened in the directory
// that holds it, as itself, and stays open, so that nothing on the way can be swapped for something
// else while the caller acts on the handle at the end. Reparse points are read and followed here,
// never by Windows. A call that only looks opens a way without links at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/base/volume_id.h"
#include "server/base/windows_path.h"
#include "server/machine/os.h"
#include "server/machine/reparse_point.h"

namespace csi_proxy::host {

struct ResolveOptions {
  // Follows the last component when it is a link. The mount point of a volume at the end is never
  // entered.
  bool follow_last = false;
  // Links and mount points on the way; Windows gives up after 63.
  int max_steps = 63;
  // The access to the last component. With kPeek the answer is only a snapshot: the entries on the
  // way may change, they need not be held, and of a way that ends early nothing is said but that.
  machine::Access access = machine::Access::kRead;
  // Waits for entries that others hold: see patient_open.h.
  bool is_patient = true;
};

// The end of the way, or how far it goes.
struct ResolvedPath {
  // Every directory on the way, open; the last is `at`. With kPeek some are left out.
  std::vector<std::unique_ptr<machine::File>> held;
  // The attributes of the last entry held.
  machine::FileAttributes attributes;
  // Set when the last entry held is a link or mount point that was not followed.
  std::optional<machine::ReparsePoint> link;
  // The root the last one lies under: `C:\` or `\\?\Volume{guid}\`; empty when nothing is there.
  std::string root;
  // The components from `root` to the last one held: no link or mount point among them.
  std::vector<std::string> names;
  // The components below it that are not there.
  std::vector<std::string> missing;
  // The first missing component is one of a link's target: the link leads nowhere.
  bool dangling = false;
  // The path on a server to which the last link leads; nothing is held then.
  std::string on_server;

  bool found() const { return !held.empty() && missing.empty(); }
  machine::File& at() const { return *held.back(); }
  bool is_root() const { return names.empty(); }
  // A directory to go into, not a link.
  bool is_directory() const { return attributes.is_directory && !link.has_value(); }
  // `root` and `names`: the path that names the last one held, as long as it is held.
  std::string Path() const;
};

// Follows `path`. Confinement: a link at or above a root is the administrator's and is followed
// wherever it leads, the root staying the root; a link below must lead into the roots, and only the
// last component may lead to a server. A volume mounted below a root belongs to the tree, except
// one that holds a root itself. PERMISSION_DENIED, naming the link, otherwise; FAILED_PRECONDITION
// when there are too many links.
absl::StatusOr<ResolvedPath> ResolvePath(machine::Os& os, const CallContext& context,
                                         const ConfinedPath& path,
                                         const ResolveOptions& options = {});

// The volume under which a walk ended.
absl::StatusOr<VolumeId> VolumeOf(machine::Os& os, const ResolvedPath& walked);

// True if `path` lies strictly below a root, where callers may put links and mount points.
bool IsBelow(const PathRoots& roots, const WindowsPath& path);

// NOT_FOUND, naming the missing entry.
absl::Status MissingError(const WindowsPath& path);

}  // namespace csi_proxy::host
