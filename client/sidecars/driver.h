// A CSI driver, as its sidecars see it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/sidecars/socket.h"

namespace csi_proxy::sidecars {

// All answer at `deadline` at the latest.

// The driver's name, which is not empty. UNAVAILABLE and DEADLINE_EXCEEDED while it does not
// answer; FAILED_PRECONDITION if it has none; or what it answered.
absl::StatusOr<std::string> GetDriverName(const SocketChannel& driver, absl::Time deadline);

// Tells whether the driver is ready; or what it answered.
absl::StatusOr<bool> Probe(const SocketChannel& driver, absl::Time deadline);

// The method of Probe(), as metrics name it.
inline constexpr absl::string_view kProbeMethod = "/csi.v1.Identity/Probe";

// The name that a registration service gives; the service does not take this for the kubelet's
// call.
absl::StatusOr<std::string> GetRegisteredName(const SocketChannel& registration,
                                              absl::Time deadline);

}  // namespace csi_proxy::sidecars
