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
  // Neither the registrar nor the probe beside it has a place for one: the kubelet's path is a path
  // of the node, and a container need not have it, or has it behind a link.
  kNoPlace,
};
Marker LookForMarker(const std::string& marker_file);

}  // namespace csi_proxy::sidecars
