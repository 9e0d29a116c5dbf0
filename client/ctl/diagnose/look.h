// Looks for faults on a node.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/diagnose/diagnose.pb.h"
#include "client/ctl/diagnose/findings.h"
#include "client/ctl/rpcs.h"

namespace csi_proxy::ctl::diagnose {

// A finding and the method of the group storage that repairs it; empty if none does.
struct FindingWithRepair {
  Finding finding;
  std::string repair;
  Fields fields;
};

struct Findings {
  std::vector<FindingWithRepair> found;
  // The notes, the objects that could not be looked at, and the facts of the service's metrics.
  Diagnosis rest;
  // True if the metrics say so.
  bool asks_for_iscsi = false;
  bool lists_disks = false;
  // The mounted volumes, each with one of its paths.
  std::map<std::string, std::string> volumes;
  // The first error of an rpc.
  absl::Status error = absl::OkStatus();
  // True if the service has answered.
  bool answered = false;
  // True if the service has reported that it did not look at everything.
  bool cut_short = false;

  bool complete() const { return error.ok() && !cut_short; }

  // Adds a finding and returns it.
  FindingWithRepair& Add(FindingWithRepair one) { return found.emplace_back(std::move(one)); }
  // Adds a remark about what could not be looked at. CutShort() also makes the look incomplete.
  template <typename... Parts>
  void NotKnown(const Parts&... parts) {
    rest.add_not_known(absl::StrCat(parts...));
  }
  template <typename... Parts>
  void CutShort(const Parts&... parts) {
    cut_short = true;
    NotKnown(parts...);
  }
};

// Fetches the metrics of the service. Null: their address is unknown.
using FetchMetrics = std::function<absl::StatusOr<std::string>()>;

// Looks at everything, at the metrics if `fetch` is not null, and calls `ended` with the findings
// so far when each look has ended. The first looks need no WMI: metrics, mounted folders and links.
using LookEnded = std::function<void(const Findings& so_far)>;
Findings LookAtNode(Rpcs& rpcs, const FetchMetrics* fetch, const LookEnded& ended);

// Looks again for a finding, at as few objects as possible.
Findings LookAgain(Rpcs& rpcs, const Finding& finding);

}  // namespace csi_proxy::ctl::diagnose
