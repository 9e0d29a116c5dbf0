#include "client/cpp/container.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::client {
namespace {

// SIDs of ContainerAdministrator and ContainerUser are S-1-5-93-2-1 and S-1-5-93-2-2
// (https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security).
constexpr char kContainerUsers[] = "S-1-5-93-";

constexpr char kHowToEmbed[] =
    "; CSI_PROXY_MODE=embedded embeds all the same, as does asking for that mode in the program";

}  // namespace

absl::Status CheckOutsideContainers(const ContainerSigns& signs) {
  if (signs.container_type == ContainerSigns::Value::kPresent ||
      absl::StartsWith(signs.user_sid, kContainerUsers)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this process runs in a container, whose files and disks are not the node's", kHowToEmbed));
  }
  if (signs.container_type == ContainerSigns::Value::kUnknown || signs.user_sid.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("it cannot be told whether this process runs in a container", kHowToEmbed));
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::client
