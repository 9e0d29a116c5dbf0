// Brings disks and their volumes online, for the calls of several groups. Callers hold the disk's
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

// Brings a disk online, writable, with the volumes that its partitions promise.
absl::StatusOr<host::StateChange> BringOnline(host::Host& host, const CallContext& context,
                                              uint32_t number);

// Waits until so many volumes of a disk can be listed: drivers take the first one right after
// PartitionDisk or SetDiskState, without a check. In the end one is enough. They must have been the
// same ones for `unchanged_for`. `state` is the word for the disk's present state, for the error.
absl::Status AwaitVolumes(host::Host& host, const CallContext& context, uint32_t number,
                          size_t wanted, absl::string_view state,
                          absl::Duration unchanged_for = absl::ZeroDuration());

}  // namespace csi_proxy::disk
