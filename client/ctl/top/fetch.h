// Asks the service for its metrics.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace csi_proxy::ctl::top {

// An address as --metrics-bind-address of the service has it: `host:port`, `[::1]:port`, or `:port`
// for 127.0.0.1.
struct MetricsAddress {
  std::string host;
  int port = 0;
};

// INVALID_ARGUMENT.
absl::StatusOr<MetricsAddress> ParseMetricsAddress(const std::string& text);

// The text at `/metrics`. UNAVAILABLE when nobody answers, or not in HTTP; DEADLINE_EXCEEDED after
// about `timeout`; FAILED_PRECONDITION when there are no metrics; RESOURCE_EXHAUSTED when there is
// no end of them.
absl::StatusOr<std::string> FetchMetrics(const MetricsAddress& address, absl::Duration timeout);

}  // namespace csi_proxy::ctl::top
