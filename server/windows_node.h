// The node this program runs on.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/host/host.h"

namespace csi_proxy {

// The machine itself. WMI has been asked once; that it did not answer is no failure, but `warn` is
// told. UNIMPLEMENTED where the machine is no Windows node.
absl::StatusOr<std::unique_ptr<host::Host>> OpenWindowsNode(
    const std::function<void(absl::string_view)>& warn);

}  // namespace csi_proxy
