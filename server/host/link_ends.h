// Finds what the links of one walk lead to in the end (LinkEnd).
#pragma once

#include <map>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/host/host_deps.h"
#include "server/host/list_links.h"
#include "server/names/volume_id.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {

// Finds the ends of links. Queries each volume once. Not thread-safe.
class LinkEnds {
 public:
  // REQUIRES: `deps` and `context` outlive this object.
  LinkEnds(const HostDeps& deps, const CallContext& context) : deps_(deps), context_(context) {}

  // Returns the end of a link to `volume`; kUnknown if Windows does not answer soon.
  LinkEnd EndAt(const VolumeId& volume);

  // Follows the link at `path`, and sets `end`, `share` and `folder` of `link`. Does not change
  // `end` if Windows refuses, or if the link leads outside the roots. Returns an error only if the
  // call has ended.
  absl::Status Follow(const ConfinedPath& path, FoundLink* link);

 private:
  const HostDeps& deps_;
  const CallContext& context_;
  std::map<VolumeId, LinkEnd> volumes_;
};

}  // namespace csi_proxy::host
