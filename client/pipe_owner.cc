#include "client/pipe_owner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace csi_proxy::client {

absl::Status CheckPipeOwner(absl::string_view path, const PipeOwner& who) {
  if (who.owner_is_administrator) return absl::OkStatus();
  if (!who.owner.empty() && std::ranges::find(who.own, who.owner) != who.own.end()) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the pipe ", path, " belongs to ", who.owner.empty() ? "nobody" : who.owner,
                   ", who is not an administrator: another program has taken its name"));
}

}  // namespace csi_proxy::client
