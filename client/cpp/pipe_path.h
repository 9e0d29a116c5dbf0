// The paths of a service's pipes.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "csi_proxy/connection.h"
#include "server/names/released_names.h"

namespace csi_proxy::client {

// Returns `\\.\pipe\<name>` on Windows, otherwise `<socket directory>/<name>.sock`.
std::string PipePath(const ClientOptions& options, absl::string_view name);

// Returns the path of the pipe of one version.
inline std::string PipePath(const ClientOptions& options, absl::string_view group,
                            absl::string_view version) {
  return PipePath(options, PipeName(group, version));
}

// Returns true if the pipe exists or access is denied. On Windows opens the pipe and closes it.
bool PipeExists(const std::string& path);

}  // namespace csi_proxy::client
