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

// Waits until at least `wanted` volumes of a disk are listed and the list has not changed for
// `unchanged_for`, because drivers use the first volume of the list and do not check whether there
// is one. After ten seconds one volume suffices. Returns DEADLINE_EXCEEDED after a minute; `state`
// names the disk's state in the error.
absl::Status AwaitVolumes(host::Host& host, const CallContext& context, uint32_t number,
                          size_t wanted, absl::string_view state,
                          absl::Duration unchanged_for = absl::ZeroDuration());

}  // namespace csi_proxy::disk
