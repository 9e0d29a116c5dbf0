// The file by which --mode=kubelet-registration-probe, run as the exec probe of the registrar's
// container, finds whether the kubelet has registered the driver.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace csi_proxy::sidecars {

// `registration` beside the driver's socket, as node-driver-registrar 2.5 to 2.8 had it.
std::string MarkerFile(absl::string_view kubelet_registration_path);

enum class Marker {
  kThere,
  kMissing,
  // The marker's directory does not exist here, cannot be written, or is reached through a link.
  // The kubelet's path is a path of the node, which a container need not have.
  kNoPlace,
};
Marker LookForMarker(const std::string& marker_file);

}  // namespace csi_proxy::sidecars
