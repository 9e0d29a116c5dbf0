// Open files of the simulated Win32: entries of the trees of a simulated node's volumes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/machine/os.h"
#include "server/simulator/win32/gate.h"
#include "server/simulator/win32/open_entries.h"

namespace csi_proxy::machine::simulated {

// Opens the root directory `C:\` or `\\?\Volume{guid}\`. An open file stays the entry it was opened
// as. When somebody removes that all the same, who is not bound by OpenEntries (the administrator
// of the node, a format), each method fails with ERROR_ACCESS_DENIED, as on a deleted file; when
// its volume goes, with ERROR_NOT_READY.
absl::StatusOr<std::unique_ptr<machine::File>> OpenRootDirectory(
    const Gate& gate, const std::shared_ptr<OpenEntries>& open, const std::string& root);

}  // namespace csi_proxy::machine::simulated
