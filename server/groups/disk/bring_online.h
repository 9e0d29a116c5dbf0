// Brings disks and their volumes online, for several groups. REQUIRES: the caller holds the disk's
// lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/host/host.h"

namespace csi_proxy::disk {

// Brings a disk online, makes it writable and waits for the volumes of its partitions.
absl::StatusOr<host::StateChange> BringOnline(host::Host& host, const CallContext& context,
                                              uint32_t number);

// Waits until `wanted` volumes of a disk can be listed and have been the same for `unchanged_for`,
// because drivers take the first volume right after PartitionDisk or SetDiskState, unchecked. At
// the end of the wait one volume suffices. `state` names the disk's state in the error.
absl::Status AwaitVolumes(host::Host& host, const CallContext& context, uint32_t number,
                          size_t wanted, absl::string_view state,
                          absl::Duration unchanged_for = absl::ZeroDuration());

}  // namespace csi_proxy::disk
