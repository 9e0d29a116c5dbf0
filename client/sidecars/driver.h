// The calls that the sidecars make to a CSI driver.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/sidecars/socket.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy::sidecars {

// All calls return by `deadline`.

// Returns the driver's name. UNAVAILABLE or DEADLINE_EXCEEDED if the driver does not answer;
// FAILED_PRECONDITION if the name is empty; otherwise the driver's error.
absl::StatusOr<std::string> GetDriverName(const SocketChannel& driver, SteadyTime deadline);

// Returns true if the driver is ready, false if it is not ready, or the error of the call.
absl::StatusOr<bool> Probe(const SocketChannel& driver, SteadyTime deadline);

// The name of Probe()'s method in metrics.
inline constexpr absl::string_view kProbeMethod = "/csi.v1.Identity/Probe";

// Returns the name from a registration service. The call carries kHealthMetadata, so that the
// service does not mistake the call for the kubelet's.
absl::StatusOr<std::string> GetRegisteredName(const SocketChannel& registration,
                                              SteadyTime deadline);

}  // namespace csi_proxy::sidecars
