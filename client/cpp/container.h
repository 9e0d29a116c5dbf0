// Tells if this process runs in an ordinary Windows container. There even an administrator manages
// the container's own files and disks, not the node's.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace csi_proxy::client {

struct ContainerSigns {
  enum class Value { kAbsent, kPresent, kUnknown };

  // The value ContainerType of HKLM\SYSTEM\CurrentControlSet\Control, which Windows sets in a
  // container's own registry; the .NET SDK goes by it too
  // (https://github.com/dotnet/sdk, DockerContainerDetectorForTelemetry.cs). A HostProcess
  // container is a job on the node, with the node's registry, where the value is absent
  // (https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod).
  Value container_type = Value::kUnknown;
  // The user of the process. Empty when it is not known.
  std::string user_sid;
};

// FAILED_PRECONDITION, with the way to embed all the same, when there is any sign of a container,
// or when it cannot be told.
absl::Status CheckOutsideContainers(const ContainerSigns& signs);

// Windows.
ContainerSigns LookForContainer();

}  // namespace csi_proxy::client
