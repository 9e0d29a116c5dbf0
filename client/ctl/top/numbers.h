// The service's metrics at one moment, and between two.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace csi_proxy::ctl::top {

// The calls of one rpc.
struct RpcNumbers {
  double finished = 0;
  // The calls among these that ended with another code than OK.
  double failed = 0;
  // The calls that took at most so many seconds, by the seconds; the last is infinite.
  std::map<double, double> within;
};

// A caller and what it calls: the image of the program, group, version.
using Caller = std::tuple<std::string, std::string, std::string>;

struct Numbers {
  // The keys are as `v1.Disk/Rescan`.
  std::map<std::string, RpcNumbers> rpcs;
  std::map<Caller, double> callers;
  // By image and limit, how often a client met it.
  std::map<std::pair<std::string, std::string>, double> limited;
  // By group: received and not answered yet; of these, not begun.
  std::map<std::string, double> in_flight, queued;
  // By state.
  std::map<std::string, double> connections;
  // By name, how often Windows did not do what the service expects of it.
  std::map<std::string, double> fallbacks;
  // The start of the service; InfinitePast when it does not tell.
  absl::Time started = absl::InfinitePast();
};

// Reads the text that the service serves. INVALID_ARGUMENT when it is not Prometheus' format, or of
// another program.
absl::StatusOr<Numbers> ReadNumbers(absl::string_view exposition);

// The counts between two moments; figures that are not counted are as they are now. A service that
// began anew in between counts from its beginning.
Numbers Since(const Numbers& before, const Numbers& now);

// The time, in seconds, that a part (0.99) of the calls did not exceed: estimated as Prometheus'
// histogram_quantile does, by a straight line between the bounds of a bucket
// (https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile). The result
// is at most the largest finite bound; 0 without calls.
double Quantile(const std::map<double, double>& within, double part);

}  // namespace csi_proxy::ctl::top
