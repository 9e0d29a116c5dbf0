// Methods of the Storage namespace, whose provider works on a cache of disks and volumes.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/machine/cim/session.h"

namespace csi_proxy::host {

// Makes the provider look for disks that came, went or changed size, and for their volumes.
absl::Status UpdateStorageCache(cim::Session& wmi, const CallContext& context);

// Runs a method. When it refuses because the provider's cache is out of date (40003), or does not
// hold the object (40006), the cache is updated and the method run once more, as the page of return
// codes says
// (learn.microsoft.com/windows-hardware/drivers/storage/storage-management-api-common-return-codes).
// The caller judges all other return values.
absl::StatusOr<cim::MethodResult> InvokeStorage(cim::Session& wmi, const CallContext& context,
                                                const std::string& path, const std::string& method,
                                                const cim::Arguments& arguments = {});

}  // namespace csi_proxy::host
