// Asks the service for its metrics.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/http/host_port.h"

namespace csi_proxy::ctl::top {

// An address as --metrics-bind-address of the service has it: without a host, this machine's.
// INVALID_ARGUMENT, naming `option`.
absl::StatusOr<HostPort> ParseMetricsAddress(absl::string_view option, absl::string_view text);

// The text at `/metrics`. UNAVAILABLE when nobody answers, or not in HTTP; DEADLINE_EXCEEDED after
// about `timeout`; FAILED_PRECONDITION when there are no metrics; RESOURCE_EXHAUSTED when there is
// no end of them.
absl::StatusOr<std::string> FetchMetrics(const HostPort& address, absl::Duration timeout);

}  // namespace csi_proxy::ctl::top
