// Finds volumes in WMI, and reads the properties of an MSFT_Volume
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-volume).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/host/volume_view.h"
#include "server/machine/cim/session.h"
#include "server/machine/layouts.h"
#include "server/machine/os.h"
#include "server/names/volume_id.h"

namespace csi_proxy::host {

absl::Status NoVolume(const VolumeId& volume);

// Returns the error for a volume on which the operation `what` failed with `status`. NOT_FOUND if
// the volume does not exist, FAILED_PRECONDITION if BitLocker has locked it.
absl::Status VolumeError(const VolumeId& volume, absl::string_view what,
                         const absl::Status& status);

// Returns the only extent of a volume. FAILED_PRECONDITION if the volume has several.
absl::StatusOr<machine::DiskExtent> ExtentOf(const VolumeView& volume);

// Finds the MSFT_Volume. Retries for 10 s, because the mount manager may have a volume before WMI
// shows it. NOT_FOUND if the volume does not exist, FAILED_PRECONDITION if its disk is dynamic or
// if CheckOne() fails, UNAVAILABLE if WMI still does not show the volume.
absl::StatusOr<cim::Object> FindVolume(cim::Session& wmi, machine::Os& os,
                                       const CallContext& context, const VolumeId& volume);

// Returns the HealthStatus: `Healthy`, `Scan needed`, `Spot fix needed`, `Full repair needed`, or a
// number that the page does not list; "" if Windows does not report it.
std::string VolumeHealthName(const cim::Object& volume);

}  // namespace csi_proxy::host
