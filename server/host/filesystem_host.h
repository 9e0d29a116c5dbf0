// The operations of a node on directories and links. Operations follow links only within the path's
// roots. An operation that removes an entry never follows a link at the end of the path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/host/host_deps.h"
#include "server/host/list_links.h"
#include "server/host/resolve_path.h"
#include "server/host/smb_host.h"
#include "server/names/volume_id.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {

struct LinkInfo {
  // True for a symbolic link, junction or volume mount point.
  bool is_link = false;
  bool is_directory = false;
  // The target as os.Readlink of Go returns it: `C:\a\b`, `\\host\share\a\`, or `\\?\Volume{guid}\`
  // for a mount point.
  std::string target;
  // The volume, for a mount point.
  std::optional<VolumeId> volume;
  // True if the target exists.
  bool target_exists = false;
  // The entry's own path: all links above the entry are replaced by their targets.
  std::string real_path;
};

// The file system that holds a path.
struct PathStats {
  uint64_t total_bytes = 0;
  // The bytes that can still be written: fewer than the free bytes if a quota applies.
  uint64_t available_bytes = 0;
  // The volume, unless the path is on a share.
  std::optional<VolumeId> volume;
  // The share, as UncPath::Share() returns it; empty if the path is on a volume.
  std::string share;
};

// Thread-safe. A change holds the entries of its path open and acts on the open entries, so that a
// link swapped in cannot redirect it. PERMISSION_DENIED if a link leads out of the path's roots.
// Accesses only servers of mapped shares; entries on other shares count as absent.
class FilesystemHost {
 public:
  explicit FilesystemHost(const HostDeps& deps) : deps_(deps), os_(*deps.os), smb_(deps) {}

  // Returns true if an entry exists at the path, even a dangling link; false if a parent is
  // missing.
  absl::StatusOr<bool> Exists(const CallContext& context, const ConfinedPath& path);

  // Creates the directory and its missing parents; no change if it exists. ALREADY_EXISTS if a file
  // or a dangling link exists at the path or at a parent.
  absl::Status MakeDirectories(const CallContext& context, const ConfinedPath& path);

  // Removes a file, a directory, or a link itself, but not the link's target.
  //
  // With `recursive`, also removes all entries below, without following links and mount points; no
  // change if the path does not exist. Without `recursive`, FAILED_PRECONDITION if a directory is
  // not empty and NOT_FOUND if the path does not exist.
  //
  // If the entry is a mount point, flushes the volume and ends the mount; only logs a failure of
  // the flush. The content of the volume stays, and the volume may be missing. If another program
  // keeps the entry open, ends a mount or link nevertheless: an empty directory stays, and the
  // error says so.
  absl::Status Remove(const CallContext& context, const ConfinedPath& path, bool recursive);

  // Removes a link or mount that leads to `target`, a LinkInfo::target. NOT_FOUND if the path does
  // not exist. FAILED_PRECONDITION if the entry is not a link or leads elsewhere, or if a directory
  // between a root and it is a link or mount. Unlike Remove(), keeps it if it cannot be opened.
  absl::Status RemoveLink(const CallContext& context, const ConfinedPath& path,
                          absl::string_view target);

  // Empties the directory like Remove() and keeps it. NOT_FOUND if the path does not exist,
  // FAILED_PRECONDITION if it is not a directory, or is a link or mount point.
  absl::Status RemoveContents(const CallContext& context, const ConfinedPath& path);

  // Creates a directory link at `link` to `source`. Links in `source` must stay within its roots.
  // NOT_FOUND if the directory for the link is missing, or `source`, unless it is on a server.
  // FAILED_PRECONDITION if `source` is not a directory, ALREADY_EXISTS if `link` exists.
  absl::Status CreateLink(const CallContext& context, const ConfinedPath& source,
                          const ConfinedPath& link);

  // Creates a directory link at `link` to a directory on a server, without accessing the server.
  // ReadLink() returns the target as `\\host\share\a\`. Fails as CreateLink() does.
  absl::Status CreateLinkToShare(const CallContext& context, const UncPath& target,
                                 const ConfinedPath& link);

  // Describes the entry at the path. NOT_FOUND if the path does not exist.
  absl::StatusOr<LinkInfo> ReadLink(const CallContext& context, const ConfinedPath& path);

  // Describes the entry like ReadLink(), but accesses no server and leaves `target_exists` false.
  absl::StatusOr<LinkInfo> PeekLink(const CallContext& context, const ConfinedPath& path);

  // Measures the file system of the path. Follows links and mount points, but follows a link to a
  // share only at the end of the path. NOT_FOUND if the path does not exist or the share is not
  // mapped, FAILED_PRECONDITION if the volume has no file system. Blocks until a share's server
  // answers.
  absl::StatusOr<PathStats> GetStats(const CallContext& context, const ConfinedPath& path);

  // See list_links.h.
  absl::StatusOr<LinkList> ListLinks(const CallContext& context,
                                     const std::vector<ConfinedPath>& starts,
                                     const LinkWalkLimits& limits = {});

 private:
  // Removes the entry at `path`, which `walked` has resolved. Ends a mount first.
  absl::Status RemoveEntry(const CallContext& context, const ConfinedPath& path,
                           ResolvedPath* walked);
  // Ends the mount or link at `path`. Returns `kept`, with the programs that hold the entry, and
  // with a note if a mount or link has ended. REQUIRES: `kept` says why the entry cannot be opened
  // for deletion.
  absl::Status RemoveHeld(const CallContext& context, const ConfinedPath& path,
                          const absl::Status& kept);
  absl::Status TryMakeDirectories(const CallContext& context, const ConfinedPath& path);
  // Returns true if a walk ended at a path on a mapped share, and the path can be reached.
  absl::StatusOr<bool> Reaches(const CallContext& context, const ResolvedPath& walked);
  // Returns true if a global mapping covers a path on a server. Other servers are not accessed,
  // because a pod's link may name any server, and SYSTEM would sign in there as the node
  // (learn.microsoft.com/entra/architecture/service-accounts-computer).
  absl::StatusOr<bool> IsMapped(const CallContext& context, const UncPath& server);

  const HostDeps deps_;
  machine::Os& os_;
  SmbHost smb_;
};

}  // namespace csi_proxy::host
