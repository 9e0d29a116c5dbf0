// Fetches the service's metrics.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/http/host_port.h"

namespace csi_proxy::ctl::top {

// Parses an address in the form of the service's --metrics-bind-address. Without a host the address
// is on this machine. Returns INVALID_ARGUMENT, naming `option`, if the address is invalid.
absl::StatusOr<HostPort> ParseMetricsAddress(absl::string_view option, absl::string_view text);

// Returns the text at `/metrics`. UNAVAILABLE if no server answers, or one that does not speak
// HTTP; DEADLINE_EXCEEDED after about `timeout`; FAILED_PRECONDITION if the server has no metrics;
// RESOURCE_EXHAUSTED if the text is too large.
absl::StatusOr<std::string> FetchMetrics(const HostPort& address, absl::Duration timeout);

}  // namespace csi_proxy::ctl::top
