// Opening an entry that somebody else may hold for himself at this moment.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// Opens `name` in `directory`; while that is a sharing violation, because another call deletes it
// or a virus scanner looks at it, tries again for up to two seconds, or until the call ends.
absl::StatusOr<std::unique_ptr<machine::File>> OpenPatiently(const CallContext& context,
                                                             machine::File& directory,
                                                             const std::string& name,
                                                             machine::Access access);

}  // namespace csi_proxy::host
