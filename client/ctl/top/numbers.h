// The service's metrics at one moment, and the difference between two.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/flag_in_force.h"
#include "server/http/host_port.h"

namespace csi_proxy::ctl::top {

// The calls of one rpc.
struct RpcNumbers {
  double finished = 0;
  // The finished calls that did not end with OK, and how many of these the service refused without
  // running them, because of its limits (RESOURCE_EXHAUSTED).
  double failed = 0;
  double refused = 0;
  // Keyed by seconds: the number of calls that took at most this long. The last key is infinite.
  std::map<double, double> within;

  // Returns `within` without the refused calls, assuming that each of these is in the first bucket.
  std::map<double, double> RanWithin() const;
};

// A caller and the pipe that it calls: the program's image, group, version.
using Caller = std::tuple<std::string, std::string, std::string>;

struct Numbers {
  // Keyed by `v1.Disk/Rescan`.
  std::map<std::string, RpcNumbers> rpcs;
  std::map<Caller, double> callers;
  // How often clients met a limit, by image and limit.
  std::map<std::pair<std::string, std::string>, double> limited;
  // Keyed by group: the calls that have not ended, and the number of them that wait to begin.
  std::map<std::string, double> in_flight, queued;
  // Keyed by state.
  std::map<std::string, double> connections;
  // By rpc, the age in seconds of the oldest call that has run for a minute.
  std::map<std::string, double> long_calls;
  // How often Windows did not do what the service expects, by the name of the fallback.
  std::map<std::string, double> fallbacks;
  // In the order of the metrics; empty for a service that does not report its flags.
  std::vector<FlagInForce> flags;
  // The start time of the service; InfinitePast if the metrics do not contain it.
  absl::Time started = absl::InfinitePast();

  // Returns true if a program other than csi-proxyctl has called the group iscsi, or if any program
  // has called StageTarget.
  bool AsksForIscsi() const;
};

// Parses the service's metrics. INVALID_ARGUMENT if the text is malformed or comes from another
// program.
absl::StatusOr<Numbers> ReadNumbers(absl::string_view exposition);

// Returns the increase of counters since `before`, which must be earlier, and the present value of
// everything else. If the service has restarted in between, its counters count from the restart.
Numbers Since(const Numbers& before, const Numbers& now);

// Returns the seconds that a fraction `part` (0.99) of the calls did not exceed, interpolated
// linearly within a bucket as in Prometheus' histogram_quantile
// (https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile). At most
// the largest finite bound; 0 if there are no calls. REQUIRES: `part` is between 0 and 1.
double Quantile(const std::map<double, double>& within, double part);

// One line: `name{label="value",...} number`.
struct Sample {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;

  // Returns the value of a label, or "" if there is no such label.
  std::string Label(absl::string_view label) const;
};

// Calls `visit` with each sample, in the order of the text; skips comments and timestamps.
// INVALID_ARGUMENT names the first malformed line; samples before it have been visited.
absl::Status ReadExposition(absl::string_view text,
                            absl::FunctionRef<void(const Sample& sample)> visit);

// Parses the flag --metrics, which has the form of the service's --metrics-bind-address. Without a
// host the address is on this machine. Returns INVALID_ARGUMENT if the address is invalid.
absl::StatusOr<HostPort> ParseMetricsAddress(absl::string_view text);

// Returns the text at `/metrics`. UNAVAILABLE if no server answers, or if the server does not speak
// HTTP; DEADLINE_EXCEEDED after about the timeout; FAILED_PRECONDITION if the server has no
// metrics; RESOURCE_EXHAUSTED if the text is too large.
using FetchMetrics = std::function<absl::StatusOr<std::string>()>;

// Returns the function that fetches the metrics at the address, by ParseMetricsAddress().
absl::StatusOr<FetchMetrics> MetricsFetcher(absl::string_view address, absl::Duration timeout);

}  // namespace csi_proxy::ctl::top
