// Brings disks and their volumes online, for several groups. REQUIRES: the caller holds the disk's
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/groups/deps.h"
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

// What a disk was before a call changed it.
struct DiskState {
  // The device path; empty if no time has passed in which another disk could get the number.
  std::string path = {};
  bool is_offline = false;
  bool is_read_only = false;
};

// Makes a disk read-only and offline again, if it was, because it may be another system's. Works
// although the call has ended, for at most five seconds. Returns `failed`, the call's error. Leaves
// the disk as it is if a volume of it is, or may be, in use, because another call may have seen it
// online. Then, and if Windows fails, adds that to the message and logs it. REQUIRES: the caller
// holds the disk's lock but no lock of a volume, and has not written to the disk.
absl::Status Restore(const groups::Deps& deps, const CallContext& context, uint32_t number,
                     const DiskState& before, const absl::Status& failed);

}  // namespace csi_proxy::disk
