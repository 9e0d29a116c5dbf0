#include "integration/drivers/sample/capability.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::sample_driver {

using csi::v1::VolumeCapability;

absl::Status CheckCapability(const VolumeCapability& capability) {
  const auto refuse = [](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat("volume_capability: ", why));
  };
  if (!capability.has_mount()) {
    return refuse("only directories are published; Windows pods take no block devices");
  }
  const std::string& fs_type = capability.mount().fs_type();
  if (!fs_type.empty() && !absl::EqualsIgnoreCase(fs_type, "ntfs")) {
    return refuse(absl::StrCat("file system ", fs_type, ": there is NTFS only"));
  }
  if (capability.mount().mount_flags_size() != 0) return refuse("Windows has no mount flags");
  switch (capability.access_mode().mode()) {
    case VolumeCapability::AccessMode::SINGLE_NODE_WRITER:
    case VolumeCapability::AccessMode::SINGLE_NODE_READER_ONLY:
      return absl::OkStatus();
    default:
      return refuse(absl::StrCat(
          "access mode ", VolumeCapability::AccessMode::Mode_Name(capability.access_mode().mode()),
          ": a disk is attached to one node"));
  }
}

absl::Status CheckCapabilities(
    const google::protobuf::RepeatedPtrField<VolumeCapability>& capabilities) {
  if (capabilities.empty()) return absl::InvalidArgumentError("volume_capabilities: is missing");
  for (const VolumeCapability& capability : capabilities) {
    if (absl::Status s = CheckCapability(capability); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::sample_driver
