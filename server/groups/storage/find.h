// Which disk a request means.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/storage/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::storage {

// INVALID_ARGUMENT, naming the field, unless it names one disk in one way.
absl::Status CheckSelector(const DiskSelector& selector);

// The disk that a checked selector means. A LUN without adapter and bus never means a disk that
// Windows lives on, nor another one on the adapter of Windows' own disk: that is where clouds put
// the node's temporary disk, whose LUN a data disk on the next adapter may have as well. When there
// is none, the disks are scanned anew, which `rescanned` then tells, and looked for again for some
// seconds, as a cloud may have attached one just now. NOT_FOUND, then; FAILED_PRECONDITION, naming
// them, when several fit.
absl::StatusOr<host::DiskDescription> FindDisk(const groups::Deps& deps, const CallContext& context,
                                               const DiskSelector& selector, bool* rescanned);

}  // namespace csi_proxy::storage
