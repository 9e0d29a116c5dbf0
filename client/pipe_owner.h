// Whether a pipe is the service's, so that its server may be sent secrets.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::client {

// Whose a pipe is, and whose this process: SIDs on Windows, else numbers of users.
struct PipeOwner {
  std::string owner;
  bool owner_is_administrator = false;
  // The user of this process, and who owns what it creates.
  std::vector<std::string> own;
};

// OK when the pipe belongs to an administrator, or when this process could have made it itself:
// from its own user it has nothing to hide; else PERMISSION_DENIED, naming pipe and owner. An owner
// who is unknown is somebody else.
absl::Status CheckPipeOwner(absl::string_view path, const PipeOwner& who);

}  // namespace csi_proxy::client
