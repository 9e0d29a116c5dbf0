// Tells whether a pipe is the service's, so that its server may be sent secrets.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::client {

// The owner of a pipe and the user of this process: SIDs on Windows, else numbers of users.
struct PipeOwner {
  std::string owner;
  // SYSTEM or root.
  bool owner_is_system = false;
  // The user of this process.
  std::string self;
};

// OK when the pipe belongs to the system, or to the user of this process, from whom the process has
// nothing to hide: else PERMISSION_DENIED, naming pipe and owner. The administrators are not
// enough, because a container's administrator makes pipes that belong to them. An owner who is
// unknown is somebody else.
inline absl::Status CheckPipeOwner(absl::string_view path, const PipeOwner& who) {
  if (who.owner_is_system || (!who.owner.empty() && who.owner == who.self)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the pipe ", path, " belongs to ", who.owner.empty() ? "nobody" : who.owner,
                   ", neither to the system nor to ", who.self,
                   ": another program, or another release of the service, has taken its name"));
}

}  // namespace csi_proxy::client
