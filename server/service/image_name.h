// Names a client's program for logs and metrics.
#pragma once

#include "absl/strings/string_view.h"

namespace csi_proxy::observability {

// `driver.exe` of `\\?\Volume{...}\driver.exe`: the path of a container's image names its layers,
// which are others with each restart of a pod.
inline absl::string_view ImageName(absl::string_view image_path) {
  return image_path.substr(image_path.find_last_of("\\/") + 1);
}

}  // namespace csi_proxy::observability
