// The links and mounted folders of a directory tree, found by handle and not followed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/base/windows_path.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

enum class LinkKind { kMountedVolume, kSymlink, kJunction };

// The end of a link, after following the links behind it as ResolvePath does.
enum class LinkEnd {
  // A directory, or a volume that the node has.
  kThere,
  // Nothing, no directory, a volume whose disk is gone or offline, a circle of links.
  kNowhere,
  // A share, which was not asked.
  kOnServer,
  // It was not looked at: it is not below the roots, Windows refused, or the time was over.
  kUnknown,
};

struct FoundLink {
  std::string path;
  LinkKind kind = LinkKind::kSymlink;
  // Spelt as in LinkInfo; empty when it cannot be read, or is not text for people.
  std::string target;
  LinkEnd end = LinkEnd::kUnknown;
  // With kOnServer, as UncPath::Share() has it, and with the folder that the link leads to.
  std::string share;
  std::string folder;
};

struct LinkList {
  // In the order of their paths.
  std::vector<FoundLink> links;
  // Some may be missing, or kUnknown though they could have been followed.
  bool incomplete = false;
  // True if links that the kubelet or a driver made may be missing. False if the walk skipped only
  // directories that a pod can write (see ListLinks()) or that lie deeper than
  // LinkWalkLimits::depth, where neither of them makes links.
  bool incomplete_outside_pods = false;
};

// The limits of one walk. Content of pods may reach them without an effect on other links.
struct LinkWalkLimits {
  // Entries seen; only directories and links cost more than their line in a listing.
  size_t entries = 500'000;
  // The entries of one directory, and its links, that are looked at before others have their turn.
  size_t entries_at_once = 2'000;
  size_t links_at_once = 128;
  // Below where the walk begins.
  size_t depth = 64;
  // Bytes of the paths of pending directories.
  size_t pending_bytes = size_t{8} << 20;
  // Bytes of the text found, which has to fit into one message of gRPC with its usual limit of 4
  // MiB.
  size_t found_bytes = size_t{1} << 20;
  // And never more than three quarters of the call's remaining time, so that it can still answer.
  absl::Duration time = absl::Seconds(10);
};

// The directory links and mounted folders at and below `starts`. A root is followed if it is a link
// itself, and has none when it is absent; NOT_FOUND when any other start is. PERMISSION_DENIED when
// the way to one leads out of its roots.
//
// Links of the kubelet and of drivers come first: in a directory `pods` they stand at or above
// `UID\volumes\PLUGIN\VOLUME`, and for `kubernetes.io~csi` in VOLUME as well, where no pod can
// write (github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/kubelet_getters.go). What lies
// further down is a pod's, and is looked at when all other directories and links have been. In each
// of the two parts the directories near the starts come first and large ones last. The walk keeps
// nobody from renaming or deleting its entries, and passes over entries that disappear. Entries
// whose name no WindowsPath can hold are skipped with all below them, because no call could name
// them.
absl::StatusOr<LinkList> ListLinks(machine::Os& os, const CallContext& context,
                                   const std::vector<ConfinedPath>& starts,
                                   const LinkWalkLimits& limits = {});

}  // namespace csi_proxy::host
