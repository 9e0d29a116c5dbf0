// Looks for faults on a node.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/ctl/diagnose/diagnose.pb.h"
#include "client/ctl/rpcs.h"

namespace csi_proxy::ctl::diagnose {

// The kinds of faults, in the order of repair: bringing a disk online may also mend a mount.
inline constexpr char kOfflineDisks[] = "offline-disks";
inline constexpr char kReadOnlyDisks[] = "read-only-disks";
inline constexpr char kCollidingDisks[] = "colliding-disks";
inline constexpr char kUnhealthyVolumes[] = "unhealthy-volumes";
inline constexpr char kDanglingMounts[] = "dangling-mounts";
inline constexpr char kDanglingLinks[] = "dangling-links";
inline constexpr char kDisconnectedMappings[] = "disconnected-mappings";
inline constexpr char kLeakedMappings[] = "leaked-mappings";
inline constexpr char kDisconnectedLinks[] = "disconnected-links";
inline constexpr char kDuplicateIds[] = "duplicate-ids";
inline constexpr char kLongCalls[] = "long-calls";
inline constexpr char kOldClients[] = "old-clients";
inline constexpr const char* kKinds[] = {
    kOfflineDisks,     kReadOnlyDisks,     kCollidingDisks, kDuplicateIds,
    kUnhealthyVolumes, kDanglingMounts,    kDanglingLinks,  kDisconnectedMappings,
    kLeakedMappings,   kDisconnectedLinks, kLongCalls,      kOldClients};

// A finding and the call that repairs it. `group` is empty if no call does.
struct FindingWithRepair {
  Finding finding;
  std::string group, method;
  Fields fields;
};

struct Findings {
  std::vector<FindingWithRepair> found;
  // The objects that could not be looked at, with the reason.
  std::vector<std::string> not_known;
  // How often each fallback was taken, by name, from the metrics.
  std::map<std::string, uint64_t> fallbacks;
  // The first error of an rpc.
  absl::Status error = absl::OkStatus();
  // True if any rpc was answered.
  bool answered = false;
  // True if the service has reported that it did not look at everything.
  bool cut_short = false;

  bool complete() const { return error.ok() && !cut_short; }
};

// Fetches the metrics of the service. Null: their address is unknown.
using FetchMetrics = std::function<absl::StatusOr<std::string>()>;

// Add findings. `path` limits the look to that path and the paths below it; empty: all paths.
void LookAtDisks(Rpcs& rpcs, Findings* findings);
void LookAtMounts(Rpcs& rpcs, const std::string& path, Findings* findings);
void LookAtMappings(Rpcs& rpcs, Findings* findings);
// Looks at the metrics: the versions that clients call, and fallbacks.
void LookAtMetrics(const Catalog& catalog, const FetchMetrics& fetch, Findings* findings);

// Looks at everything except the metrics, and sorts the findings by kind.
Findings LookAtNode(Rpcs& rpcs);

// Looks again for a finding, at as few objects as possible.
Findings LookAgain(Rpcs& rpcs, const Finding& finding);

}  // namespace csi_proxy::ctl::diagnose
