// The paths of a service's pipes.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "csi_proxy/connection.h"
#include "server/base/released_names.h"

namespace csi_proxy::client {

// Returns the path of the pipe `name`: `<socket directory>/<name>.sock`, or `\\.\pipe\<name>` on
// Windows.
std::string PipePath(const ClientOptions& options, absl::string_view name);

// The path of one version's pipe.
inline std::string PipePath(const ClientOptions& options, absl::string_view group,
                            absl::string_view version) {
  return PipePath(options, PipeName(group, version));
}

// Tells whether the pipe is there. Does not connect.
bool PipeIsThere(const std::string& path);

}  // namespace csi_proxy::client
