// The marker file, by which --mode=kubelet-registration-probe finds whether the kubelet has
// registered the driver. That mode runs as an exec probe of the registrar's container.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace csi_proxy::sidecars {

// Returns the marker's path: `registration` beside the driver's socket, as in node-driver-registrar
// 2.5 to 2.8.
std::string MarkerFile(absl::string_view kubelet_registration_path);

enum class Marker {
  kThere,
  kMissing,
  // The marker's directory does not exist, is not writable, or is reached through a link. The
  // kubelet's path is a path on the node and need not exist in a container.
  kNoPlace,
};
Marker LookForMarker(const std::string& marker_file);

}  // namespace csi_proxy::sidecars
