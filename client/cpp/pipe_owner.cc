#include "client/cpp/pipe_owner.h"

#include "absl/strings/str_cat.h"

namespace csi_proxy::client {

absl::Status CheckPipeOwner(absl::string_view path, const PipeOwner& who) {
  if (who.owner_is_system || (!who.owner.empty() && who.owner == who.self)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the pipe ", path, " belongs to ", who.owner.empty() ? "nobody" : who.owner,
                   ", neither to the system nor to ", who.self,
                   ": another program, or another release of the service, has taken its name"));
}

}  // namespace csi_proxy::client
