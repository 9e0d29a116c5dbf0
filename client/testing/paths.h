// Paths of a simulated node, as drivers are given them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace csi_proxy::simulated_node {

// A path of a drive as the node spells it: the kubelet gives `\var\lib\kubelet` and
// `/var/lib/kubelet`. Without a backslash at the end, unless it is a drive's root.
std::string FullPath(absl::string_view path);

}  // namespace csi_proxy::simulated_node
