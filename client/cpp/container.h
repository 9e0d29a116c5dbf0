// Detects whether this process runs in an ordinary Windows container. In one, even an administrator
// manages the container's files and disks, not the node's.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace csi_proxy::client {

struct ContainerSigns {
  enum class Value { kAbsent, kPresent, kUnknown };

  // The registry value ContainerType of HKLM\SYSTEM\CurrentControlSet\Control, which Windows sets
  // in a container's own registry. The .NET SDK checks it too (https://github.com/dotnet/sdk,
  // DockerContainerDetectorForTelemetry.cs). A HostProcess container is a job on the node with the
  // node's registry, in which the value is absent
  // (https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod).
  Value container_type = Value::kUnknown;
  // The SID of the process's user. Empty if unknown.
  std::string user_sid;
};

// Returns FAILED_PRECONDITION, saying how to embed all the same, if a sign is present or unknown.
absl::Status CheckOutsideContainers(const ContainerSigns& signs);

// Reads the signs of this process. Windows only.
ContainerSigns LookForContainer();

}  // namespace csi_proxy::client
