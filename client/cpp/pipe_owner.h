// Decides whether a pipe belongs to the service, so that a client may send it secrets.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::client {

// The owner of a pipe and the user of this process: SIDs on Windows, otherwise `user 1000`.
struct PipeOwner {
  std::string owner;
  // True if the owner is SYSTEM or root.
  bool owner_is_system = false;
  // The user of this process.
  std::string self;
};

// Returns OK if the pipe belongs to the system or to the user of this process, because this process
// cannot hide secrets from that user. Otherwise, also if the owner is unknown, PERMISSION_DENIED
// naming the pipe and the owner. The Administrators group is not enough, because the pipes of a
// container's administrator belong to that group.
inline absl::Status CheckPipeOwner(absl::string_view path, const PipeOwner& who) {
  if (who.owner_is_system || (!who.owner.empty() && who.owner == who.self)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "the pipe ", path, " belongs to ", who.owner.empty() ? "an unknown account" : who.owner,
      ", neither to the system nor to ", who.self,
      ": another program, or another release of the service, has taken its name"));
}

}  // namespace csi_proxy::client
