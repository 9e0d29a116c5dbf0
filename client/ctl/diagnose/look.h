// Looks for faults on a node.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/ctl/diagnose/diagnose.pb.h"
#include "client/ctl/diagnose/findings.h"
#include "client/ctl/rpcs.h"
#include "client/ctl/top/numbers.h"

namespace csi_proxy::ctl::diagnose {

// A finding and the method of the group storage that repairs it; empty if none does.
struct FindingWithRepair {
  Finding finding;
  std::string repair;
  Fields fields;
};

struct Findings {
  std::vector<FindingWithRepair> found;
  // States that are no faults.
  std::vector<Finding> notes;
  // The objects that could not be looked at, with the reason.
  std::vector<std::string> not_known;
  // The service's metrics, if they were read.
  std::optional<top::Numbers> numbers;
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
