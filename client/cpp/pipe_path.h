// Where a service's pipes are.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "csi_proxy/client_options.h"

namespace csi_proxy::client {

// Where the pipe called `name` is: `<socket directory>/<name>.sock`, or `\\.\pipe\<name>` on
// Windows.
std::string PipePath(const ClientOptions& options, absl::string_view name);

// The path of one version's pipe.
std::string PipePath(const ClientOptions& options, absl::string_view group,
                     absl::string_view version);

// Tells whether the pipe is there. Does not connect.
bool PipeIsThere(const std::string& path);

}  // namespace csi_proxy::client
