// Detects whether this process runs in an ordinary Windows container. There even an administrator
// manages the container's files and disks, not the node's.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::client {

struct ContainerSigns {
  enum class Value { kAbsent, kPresent, kUnknown };

  // The registry value ContainerType of HKLM\SYSTEM\CurrentControlSet\Control. Windows sets it in a
  // container's own registry, and the .NET SDK checks it too (https://github.com/dotnet/sdk,
  // DockerContainerDetectorForTelemetry.cs). A HostProcess container is a job on the node and sees
  // the node's registry without this value
  // (https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod).
  Value container_type = Value::kUnknown;
  // The SID of the process's user. Empty if unknown.
  std::string user_sid;
};

// Returns FAILED_PRECONDITION, naming the way to embed anyway, if a sign is present or unknown.
inline absl::Status CheckOutsideContainers(const ContainerSigns& signs) {
  constexpr char kHowToEmbed[] =
      "; to embed nevertheless, set CSI_PROXY_MODE=embedded or request that mode in the program";
  // SIDs of ContainerAdministrator and ContainerUser are S-1-5-93-2-1 and S-1-5-93-2-2
  // (https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security).
  if (signs.container_type == ContainerSigns::Value::kPresent ||
      absl::StartsWith(signs.user_sid, "S-1-5-93-")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this process runs in a container, whose files and disks are not the node's", kHowToEmbed));
  }
  if (signs.container_type == ContainerSigns::Value::kUnknown || signs.user_sid.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("Windows does not say whether this process runs in a container", kHowToEmbed));
  }
  return absl::OkStatus();
}

// Reads the signs of this process. Windows only.
ContainerSigns LookForContainer();

}  // namespace csi_proxy::client
