// The LUN of StageTarget and UnstageTarget, and its disks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/groups/storage/calls.h"
#include "server/host/disk_host.h"
#include "server/host/iscsi_host.h"

namespace csi_proxy::storage {

// Returns INVALID_ARGUMENT unless `lun` is a decimal number, or empty if `may_be_empty`.
absl::Status CheckLun(const std::string& lun, bool may_be_empty);

// Returns true if Windows keeps the disk offline as a second path to another disk
// (learn.microsoft.com/windows/win32/api/vds/ne-vds-vds_disk_offline_reason).
bool IsSecondPath(const host::DiskDescription& disk);

// Returns true if the disk of a connection has the LUN `wanted`. If Windows does not report the
// disk's LUN, returns true if the connection has no other disk.
bool HasLun(const host::DiskDescription& disk, const std::string& wanted,
            const host::IscsiConnection& connection);

struct LunDisks {
  // In the order of `all` of FindLun().
  std::vector<host::DiskDescription> disks;
  // True if every session shows the LUN.
  bool complete = false;
};
// Returns the disks of the LUN that `sessions` show, from `all`, the disks of the node.
LunDisks FindLun(const std::string& lun, const std::vector<host::IscsiSession>& sessions,
                 const std::vector<host::DiskDescription>& all);

// Chooses one of the LUN's `disks`. Without MPIO each session shows the LUN as a separate disk, and
// all but one must stay offline: writes through two of them would destroy the data. Returns
// FAILED_PRECONDITION if the choice is not clear. `others`, for the error, is the number of the
// target's sessions that the request cannot use.
absl::StatusOr<host::DiskDescription> ChooseDisk(const StageTargetRequest& request,
                                                 const std::vector<host::DiskDescription>& disks,
                                                 size_t others);

// Returns the portals of the sessions, for an error.
std::string PortalsOf(const std::vector<host::IscsiSession>& sessions);

}  // namespace csi_proxy::storage
