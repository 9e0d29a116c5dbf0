// Parts of StageTarget and UnstageTarget: what their requests and the node say of a target.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/host/disk_host.h"
#include "server/host/iscsi_host.h"

namespace csi_proxy::storage {

// The portals of a field: at most 16, none twice. INVALID_ARGUMENT, naming the field.
absl::StatusOr<std::vector<host::IscsiPortal>> ReadPortals(absl::string_view field,
                                                           const std::vector<std::string>& texts);

// The same portal, in any case.
bool IsSame(const host::IscsiPortal& a, const host::IscsiPortal& b);

// INVALID_ARGUMENT unless it is a decimal number, or empty where that may be.
absl::Status CheckLun(const std::string& lun, bool may_be_empty);

// Tells whether a disk that a connection shows beside others has the LUN. The only disk has it if
// Windows does not tell.
bool HasLun(const host::DiskDescription& disk, const std::string& wanted,
            const host::IscsiConnection& connection);

}  // namespace csi_proxy::storage
