// The operations of a node on directories and links. The last component of a path is never followed
// when it is a link; those before it are, within the path's roots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/base/volume_id.h"
#include "server/base/windows_path.h"
#include "server/host/list_links.h"

namespace csi_proxy::host {

struct LinkInfo {
  // A symbolic link, junction or volume mount point.
  bool is_link = false;
  bool is_directory = false;
  // The target of the link, spelt as os.Readlink of Go reads it: `C:\a\b`, `\\host\share\a\`, or
  // `\\?\Volume{guid}\` for a mount point.
  std::string target;
  // True if the target exists.
  bool target_exists = false;
};

// The file system that holds a path.
struct PathStats {
  uint64_t total_bytes = 0;
  // The bytes that may still be written: less than the free bytes where there are quotas.
  uint64_t available_bytes = 0;
  // One of both: the volume, or the share as UncPath::Share() has it.
  std::optional<VolumeId> volume;
  std::string share;
};

// Thread-safe. Checking a path and acting on it are one step: a link swapped in between cannot
// lead the action elsewhere. PERMISSION_DENIED when a link leads out of the path's roots. A server
// is asked only for a share that is mapped; what is on any other does not exist.
class FilesystemHost {
 public:
  virtual ~FilesystemHost() = default;

  // True if an entry is at the path, even a dangling link. False, not an error, when a directory on
  // the way is missing.
  virtual absl::StatusOr<bool> Exists(const CallContext& context, const ConfinedPath& path) = 0;

  // Creates the directory and the missing ones above it. ALREADY_EXISTS when a file or a link that
  // leads nowhere is in the way; no change when the directory is there.
  virtual absl::Status MakeDirectories(const CallContext& context, const ConfinedPath& path) = 0;

  // Removes a file, a directory, or a link itself. Not `recursive`: FAILED_PRECONDITION when a
  // directory is not empty, NOT_FOUND when nothing is there. `recursive`: with all below, links and
  // mount points inside removed and not followed; no change when nothing is there. Either way a
  // directory at which a volume is mounted goes with the mount, after a flush whose failure is only
  // logged; the content of the volume stays, and the volume may be gone.
  virtual absl::Status Remove(const CallContext& context, const ConfinedPath& path,
                              bool recursive) = 0;

  // Empties the directory, as Remove does, and keeps it. NOT_FOUND when absent, FAILED_PRECONDITION
  // when the path is not a directory. A link is refused, not followed.
  virtual absl::Status RemoveContents(const CallContext& context, const ConfinedPath& path) = 0;

  // Makes a directory link at `link` to `source`, which must exist (NOT_FOUND) and whose own links
  // stay within its roots. ALREADY_EXISTS when something is at `link`; NOT_FOUND when the
  // directory to hold it is missing.
  virtual absl::Status CreateLink(const CallContext& context, const ConfinedPath& source,
                                  const ConfinedPath& link) = 0;

  // The same to a server's directory; the target reads back as `\\host\share\a\`.
  virtual absl::Status CreateLinkToShare(const CallContext& context, const UncPath& target,
                                         const ConfinedPath& link) = 0;

  // Describes the entry at the path. NOT_FOUND when there is none.
  virtual absl::StatusOr<LinkInfo> ReadLink(const CallContext& context,
                                            const ConfinedPath& path) = 0;

  // The same, but for `target_exists`, which stays false: no server is asked.
  virtual absl::StatusOr<LinkInfo> PeekLink(const CallContext& context,
                                            const ConfinedPath& path) = 0;

  // Measures the file system that holds the path. Follows links and a mount point at the end, and a
  // link to a share only at the end. NOT_FOUND when nothing is there or the share is not mapped,
  // FAILED_PRECONDITION when the volume has no file system. It may take as long as a server takes.
  virtual absl::StatusOr<PathStats> GetStats(const CallContext& context,
                                             const ConfinedPath& path) = 0;

  // See list_links.h.
  virtual absl::StatusOr<LinkList> ListLinks(const CallContext& context,
                                             const std::vector<ConfinedPath>& starts) = 0;
};

}  // namespace csi_proxy::host
