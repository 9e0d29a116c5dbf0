// Finds volumes in WMI, and reads the properties of an MSFT_Volume
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-volume).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/base/volume_id.h"
#include "server/machine/cim/session.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

absl::Status NoVolume(const VolumeId& volume);

// The error of a question to a volume; a volume that is not there is named so.
absl::Status About(const VolumeId& volume, absl::string_view what, const absl::Status& status);

// The MSFT_Volume. The caller has the volume from the mount manager, and WMI may learn of a new
// one later, so it is looked for again for some seconds.
absl::StatusOr<cim::Object> FindVolume(cim::Session& wmi, machine::Os& os,
                                       const CallContext& context, const VolumeId& volume);

// Its HealthStatus: `Healthy`, `Scan needed`, `Spot fix needed` or `Full repair needed`; a number
// that its page does not name as it is; empty when Windows does not say.
std::string VolumeHealthName(const cim::Object& volume);

}  // namespace csi_proxy::host
