// Looks at a node for what is wrong with it.
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

// The kinds of faults, in the order in which they are repaired: a disk that is brought online may
// bring a mount back.
inline constexpr char kOfflineDisks[] = "offline-disks";
inline constexpr char kReadOnlyDisks[] = "read-only-disks";
inline constexpr char kCollidingDisks[] = "colliding-disks";
inline constexpr char kUnhealthyVolumes[] = "unhealthy-volumes";
inline constexpr char kDanglingMounts[] = "dangling-mounts";
inline constexpr char kDanglingLinks[] = "dangling-links";
inline constexpr char kDisconnectedMappings[] = "disconnected-mappings";
inline constexpr char kLeakedMappings[] = "leaked-mappings";
inline constexpr char kDisconnectedLinks[] = "disconnected-links";
inline constexpr char kOldClients[] = "old-clients";
inline constexpr const char* kKinds[] = {
    kOfflineDisks,  kReadOnlyDisks,        kCollidingDisks, kUnhealthyVolumes,  kDanglingMounts,
    kDanglingLinks, kDisconnectedMappings, kLeakedMappings, kDisconnectedLinks, kOldClients};

// A finding, and the call that repairs it; `group` is empty when no call does.
struct Found {
  Finding finding;
  std::string group, method;
  Fields fields;
};

struct Findings {
  std::vector<Found> found;
  // The parts that could not be looked at, and why.
  std::vector<std::string> not_known;
  // From the metrics, by name.
  std::map<std::string, uint64_t> fallbacks;
  // The first error of an rpc.
  absl::Status error = absl::OkStatus();
  // Any rpc answered.
  bool answered = false;
  // The service said itself that it did not look at everything.
  bool cut_short = false;

  bool complete() const { return error.ok() && !cut_short; }
};

// The metrics of the service; null when nobody said where they are.
using FetchMetrics = std::function<absl::StatusOr<std::string>()>;

// Each adds what it finds. `path`: only what is at it or below; empty: everything.
void LookAtDisks(Rpcs& rpcs, Findings* findings);
void LookAtMounts(Rpcs& rpcs, const std::string& path, Findings* findings);
void LookAtMappings(Rpcs& rpcs, Findings* findings);
// Looks at the service's counts of its clients' versions and of fallbacks.
void LookAtMetrics(const Catalog& catalog, const FetchMetrics& fetch, Findings* findings);

// All of these but the metrics, sorted by kind.
Findings LookAtNode(Rpcs& rpcs);

// Looks again as for a finding, at as few objects as possible.
Findings LookAgain(Rpcs& rpcs, const Finding& finding);

}  // namespace csi_proxy::ctl::diagnose
