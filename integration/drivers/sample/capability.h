// What can be asked of a volume.
#pragma once

#include "absl/status/status.h"
#include "integration/drivers/sample/csi.pb.h"

namespace csi_proxy::sample_driver {

// OK for a directory with NTFS that one node uses; else INVALID_ARGUMENT and what is not supported.
absl::Status CheckCapability(const csi::v1::VolumeCapability& capability);

// Of all of them; there must be one at least.
absl::Status CheckCapabilities(
    const google::protobuf::RepeatedPtrField<csi::v1::VolumeCapability>& capabilities);

}  // namespace csi_proxy::sample_driver
